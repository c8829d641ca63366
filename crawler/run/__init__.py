"""Composes one run: crawl, finish, upload, notify, follow-up audit.

Front door: ``regenerate.py``; only this package, and those above it, see the whole configuration. May import notify,
dataset, audit, publish, moves, crawl, lastmod, config, state and url.
"""
