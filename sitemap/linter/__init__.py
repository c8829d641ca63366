"""Checks sitemaps and sets of sitemaps against the rules. Entry point: ``lint.py``.

Each ``report_*.py`` writes the findings in one format.
"""
