"""The daemon's web server: health, metrics, pages for people, the published files. Changes nothing.

Front door: ``app.py``. May import notify, audit, publish, config, fetch and state.
"""
