"""Parses documents in worker processes that can be killed. Front door: ``pool.py``.

``worker.py`` runs in the other process and imports ``html`` and ``snapshot`` only.
"""
