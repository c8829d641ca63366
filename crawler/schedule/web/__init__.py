"""The daemon's web server: health, metrics, pages for people, the published files. Front door: ``app.py``.

Reads only; it changes nothing.
"""
