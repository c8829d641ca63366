"""lastmod: the date of each page, and whether a change of its content is significant.

Front door: ``observe.py``, which reads and writes the state; ``policy.py`` and ``significance.py`` are pure. May import
parse, config, fetch, state and url.
"""
