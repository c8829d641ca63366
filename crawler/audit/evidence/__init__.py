"""The claims of sources about each URL, stored in SQLite and joined with the visits of the crawl.

``store.py`` has the tables. May import audit.sources, audit.graph, crawl, state and url.
"""
