"""robots.txt (RFC 9309) and robots meta rules: ``rules.py`` and ``meta.py`` decide and are pure.

``cache.py`` is the front door of a crawl; ``store.py`` keeps fetched rules in the state. May import fetch, state, url.
"""
