"""Takes compact snapshots of the content of a page, and finds the differences between two of them.

Pure. Front doors: ``snapshot.py`` takes and loads a snapshot, ``diff.py`` compares two,
``details.py`` reads the links and headings of one. May import parse.html and url.
"""
