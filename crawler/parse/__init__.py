"""Parses documents in worker processes that can be killed.

Front door: ``pool.py``; ``worker.py`` is the program of those processes, ``robots_meta.py`` reads noindex. May import
fetch, robots and url.
"""
