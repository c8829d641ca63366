"""The state of a site on disk: one SQLite file that all runs share; its tables and locks.

Front door: ``store.py``; ``database.py`` alone opens SQLite files. May import url.
"""
