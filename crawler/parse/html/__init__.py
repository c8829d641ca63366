"""What an HTML document states: canonical, links, hreflang, images, videos, dates. Front door: ``page.py``.

Pure: bytes and headers in, a page out.
"""
