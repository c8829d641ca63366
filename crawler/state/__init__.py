"""The state of a site on disk: one SQLite file that outlives the runs. Front door: ``store.py``.

Owns what opens, locks and migrates SQLite files, and the tables that several packages share.
"""
