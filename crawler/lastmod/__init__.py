"""lastmod: the date of each page: the policy, and whether a change of its content is significant.

Front door: ``observe.py``, which reads and writes the state; ``policy.py`` and ``significance.py`` are pure.
"""
