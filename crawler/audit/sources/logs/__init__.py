"""Access logs: the URLs that people and bots requested, when, and the answers.

Front door: ``reader.py``. May import url.
"""
