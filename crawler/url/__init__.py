"""URLs: canonical form, resolution of references, scope, patterns, query parameters. Front door: ``normalize.py``.

Pure. Imports the model only.
"""
