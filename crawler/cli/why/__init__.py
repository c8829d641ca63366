"""``siteatlas why``: explains one URL from the state.

Front door: ``why.py``; ``story.py`` reads the state, ``explain.py`` and ``rules.py`` are pure. May import run,
audit, publish, crawl, lastmod, render, parse, config, robots, fetch, state and url.
"""
