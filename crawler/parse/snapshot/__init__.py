"""Takes compact snapshots of the content of a page, and finds the differences between two of them.

Pure. Front doors: ``snapshot.py`` takes and loads a snapshot, ``diff.py`` compares two. May import parse.html and url.
"""
