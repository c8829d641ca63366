"""Search Console and Google Analytics by their APIs: the reports, their requests, and the results that are kept.

Front doors: ``reader.py``, and ``inspection.py`` for the index status of pages. May import config, fetch, state and
url.
"""
