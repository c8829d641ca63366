"""The link graph of the crawled pages: reach, depth, weight, islands, link suggestions.

Front door: ``load.py``, which reads the graph from the state; the other modules only compute. May import crawl, parse,
fetch, state and url.
"""
