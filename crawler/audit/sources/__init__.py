"""Readers of sources that name URLs of the site: access logs, exports, Google's reports, lists.

Front doors: the ``reader.py`` of each kind, which turns its input into claims. May import config, fetch, state
and url.
"""
