"""Moves of a site: which URLs it ever had, where each page went, and the redirects that follow.

Front doors: ``matcher.py`` finds the new page of each old one, ``formats.py`` writes and reads maps, ``check.py``
checks them (all pure); ``register.py`` keeps the URLs in the state.
May import config, crawl, fetch, parse, state and url.
"""
