"""Whether search engines can find the published sitemap: its line in robots.txt, and the answer of both URLs.

Start at ``check.py``. May import fetch, robots and config.
"""
