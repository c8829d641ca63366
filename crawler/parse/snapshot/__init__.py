"""The main content of a page, kept small, and the difference between two snapshots of it.

Pure. Front door: ``snapshot.py`` takes and loads one; ``diff.py`` compares two.
"""
