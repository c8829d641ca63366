"""HTTP: fetches a URL as a ``Reply`` or a ``Failure``, within limits and safely.

Front door: ``fetcher.py``; the rules of retry, redirect and throttle are pure modules of their names. May import url.
"""
