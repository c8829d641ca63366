"""URLs: normal form, resolution of references, scope, patterns, query parameters.

Pure. Front door: ``normalize.py``. May import nothing but the values.
"""
