"""The audit of a site: which pages are orphans, and what is wrong with the sitemaps and with what they list.

``audit.py`` is the front door and the order of the steps: collect the sources, crawl, match URLs, classify, report.
May import crawl, publish, state, parse, robots, fetch, config and url; never run, notify, schedule or cli.
"""
