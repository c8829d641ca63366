"""The crawl as a data set: tables of pages, links, redirects and runs, to export and to query.

Front door: ``build.py``, which makes one SQLite file of a state; ``write.py`` turns it into other formats, ``query.py``
asks it, and ``rules.py`` judges by it. May import audit, config, crawl, fetch, moves, parse,
state and url.
"""
