"""Access logs: which URLs people and bots asked for, when, and what the server answered. Front door: ``reader.py``."""
