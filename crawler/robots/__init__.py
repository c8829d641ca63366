"""robots.txt (RFC 9309) and robots meta rules: ``rules.py`` and ``meta.py`` decide and are pure.

Front door: ``cache.py``, which fetches, and keeps the answers in the state. May import fetch, state, url.
"""
