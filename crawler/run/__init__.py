"""Composes one run: crawl, finish, upload, notify, follow-up audit. Front door: ``regenerate.py``.

The only package below the schedule and the commands that sees the whole configuration.
"""
