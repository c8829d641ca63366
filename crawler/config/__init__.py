"""The configuration: its sections, how they are loaded, and the plan of a crawl.

Front door: ``load.py`` for files, ``plan.py`` for the plan. May import fetch, robots, url and the schedule's cron rule.
"""
