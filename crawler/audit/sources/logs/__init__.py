"""Access logs: the URLs that people and bots requested, when, and the answers.

Front door: ``reader.py``; ``worker.py`` is the program of the processes that count lines. May import parse and url.
"""
