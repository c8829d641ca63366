"""The claims of sources about each URL, stored in SQLite and joined with the visits of the crawl.

Front door: ``store.py``, which has the tables. May import audit.graph, audit.health, audit.orphans,
audit.sources, parse, state and url.
"""
