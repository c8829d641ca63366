"""Turns the visited pages into the published sitemap: entries, gate, shards, files, change feed, rollback.

Front door: ``write.py``; ``gate.py`` refuses an implausible set. May import parse, config, fetch, state
and url.
"""
