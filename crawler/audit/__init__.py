"""The audit of a site: its orphan pages, and the faults of its sitemaps and of the URLs that they list.

Front door: ``audit.py``, which runs the steps: collect the sources, crawl, match URLs, classify, report. May import
crawl, lastmod, moves, publish, parse, config, robots, fetch, state and url.
"""
