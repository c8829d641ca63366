"""Access logs: the URLs that people and bots requested, when, and the answers. Start with ``reader.py``."""
