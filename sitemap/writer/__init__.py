"""Writes entries to sitemaps and feeds within all limits, published as a whole.

Front door: ``writer.py``. May import sitemap.reader, for the index that is published now.
"""
