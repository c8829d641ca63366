"""Whether search engines can find the published sitemap: its line in robots.txt, and the answer of both URLs.

Front door: ``check.py``; ``readers.py`` is pure and decides; ``checks.csv`` has all texts. May import audit.sources,
crawl, config, robots, fetch and url.
"""
