"""The report of an audit in every format: text, HTML, CSV, XLSX, JSON, SARIF, JUnit.

Front door: ``write.py``, for files; ``text.py`` writes to the terminal. May import audit.sources, state and url.
"""
