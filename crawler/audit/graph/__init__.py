"""The link graph of the crawled pages as arrays: reach, depth, weight, islands, link suggestions.

Front door: ``graph.py``; ``load.py`` reads it from the state, everything else is pure. Imports numpy: import this
package only where a graph is made.
"""
