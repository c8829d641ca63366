"""Reads an HTML document: its canonical, links, hreflang, refresh, images, videos and dates. Front door: ``page.py``.

Pure: it takes the body and the headers, and returns a page. A rule has the file of its name.
"""
