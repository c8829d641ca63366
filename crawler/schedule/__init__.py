"""The daemon: which site is due, in which order, in which process.

Front door: ``scheduler.py``; ``queue.py`` and ``site_state.py`` are pure. May import run, notify, audit,
publish, crawl, config, fetch and state.
"""
