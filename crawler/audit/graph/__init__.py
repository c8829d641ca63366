"""The link graph of the crawled pages as arrays: reach, depth, weight, islands, link suggestions.

``graph.py`` is the graph, ``load.py`` reads it from the state; all other modules are pure. The package imports numpy:
import it only where a graph is needed.
"""
