"""The audit of a site: its orphan pages, and the faults of its sitemaps and of the URLs that they list.

Start at ``audit.py``, which runs the steps: collect the sources, crawl, match URLs, classify, report.
May import crawl, publish, state, parse, robots, fetch, config and url; never run, notify, schedule or cli.
"""
