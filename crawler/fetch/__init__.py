"""HTTP: fetches a URL as a ``Reply`` or a ``Failure``, within limits and safely. Front door: ``fetcher.py``.

Retry, redirect and throttle rules are pure modules of their names. May import url and the model.
"""
