"""Checks sitemaps and sets of sitemaps against the rules, and reports in every format.

Front door: ``lint.py``. May import sitemap.reader.
"""
