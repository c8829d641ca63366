"""Writes entries to files that every reader accepts, within the limits, published as a whole.

Front door: ``writer.py``. May import the validation and the formats.
"""
