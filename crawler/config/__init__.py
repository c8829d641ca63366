"""The configuration: its sections, how they are loaded, and the plan of a crawl.

Front doors: ``load.py`` for files, ``plan.py`` for the plan; ``cron.py`` is pure. May import fetch and url.
"""
