"""What sources say of each URL, stored in SQLite, joined with what the crawl saw. Front door: ``store.py``.

May import audit.sources, audit.graph, crawl, state and url; the orphan classes and health rules read it.
"""
