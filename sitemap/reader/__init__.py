"""Reads sitemaps, indexes, feeds and lists of URLs: bytes in, entries and findings out. Entry point: ``reader.py``.

``parser.py`` parses bytes without I/O; ``tree.py`` follows an index to its children.
"""
