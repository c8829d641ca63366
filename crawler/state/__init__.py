"""The state of a site on disk: one SQLite file that all runs share. Front door: ``store.py``.

Opens, locks and migrates SQLite files, and holds the tables that several packages use.
"""
