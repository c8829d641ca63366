"""Checks sitemaps, and sets of them, against the table of rules. Front door: ``lint.py``.

May import the reader and the validation; ``report_*.py`` write the findings in one format each.
"""
