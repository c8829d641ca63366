"""Exports of Search Console, analytics, backlink tools and other crawlers, as CSV, JSON or SQLite.

Front door: ``reader.py``.
"""
