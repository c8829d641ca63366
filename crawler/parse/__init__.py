"""Parses documents in worker processes that can be killed. Front door: ``pool.py``.

``worker.py`` is the program of those processes. This package imports ``robots``, ``fetch``, ``url`` and the values.
"""
