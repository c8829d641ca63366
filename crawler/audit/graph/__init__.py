"""The link graph of the crawled pages as arrays: reach, depth, weight, islands, link suggestions.

Front door: ``load.py``, which reads the graph from the state; the other modules only compute. May import parse, fetch,
state and url. It imports numpy: import it only where a graph is needed.
"""
