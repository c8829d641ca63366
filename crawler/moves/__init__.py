"""Moves of a site: which URLs it ever had, where each page went, and the redirects that follow.

Front door: ``matcher.py``, which is pure, finds the new page of each old one. May import url.
"""
