"""Reads sitemaps, indexes, feeds and lists of URLs: bytes in, entries and findings out. Front door: ``reader.py``.

``parser.py`` is fed with bytes and does no I/O; ``tree.py`` and ``walk.py`` follow an index to its children.
"""
