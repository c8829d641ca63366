"""The robots.txt of an origin (RFC 9309): ``rules.py`` decides and is pure.

Front door: ``cache.py``, which fetches, and keeps the answers in the state. May import fetch, state and url.
"""
