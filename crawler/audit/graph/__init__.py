"""The link graph of the crawled pages: reach, depth, weight, islands, link suggestions.

Front door: ``load.py``, which reads the graph from the state; the other modules only compute. May import audit.orphans,
crawl, moves, fetch, parse, state and url.
"""
