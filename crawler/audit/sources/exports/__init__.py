"""Exports of Search Console, analytics, backlink tools and crawlers, as CSV, JSON or SQLite; see ``reader.py``."""
