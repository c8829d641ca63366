"""The link graph of the crawled pages: reach, depth, weight, islands, link suggestions.

``graph.py`` is the graph, ``load.py`` reads it from the state; all other modules are pure.
"""
