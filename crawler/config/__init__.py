"""The configuration: its sections, where they are loaded from, and the plan of a crawl that is made of them.

Front door: ``load.py`` for files, ``plan.py`` for the plan. May import fetch, robots, url and the schedule's cron rule.
"""
