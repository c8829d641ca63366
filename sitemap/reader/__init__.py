"""Reads sitemaps, indexes, feeds and lists of URLs: bytes in, entries and findings out.

Front door: ``parser.py``; ``tree.py`` follows an index to its children. May import nothing but the values.
"""
