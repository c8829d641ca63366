"""Exports of Search Console, analytics, backlink tools and crawlers, as CSV, JSON or SQLite.

Front door: ``reader.py``. May import state.
"""
