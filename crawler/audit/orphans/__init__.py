"""The orphan classes of pages, and whether the crawl was complete enough to call a page an orphan.

Pure. Front door: ``classes.py``; ``certainty.py`` decides which findings stay inconclusive. May import audit.graph and
parse.
"""
