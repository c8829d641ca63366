"""Reads sitemaps, indexes, feeds and lists of URLs: bytes in, entries and findings out. Entry point: ``parser.py``.

``tree.py`` follows an index to its children.
"""
