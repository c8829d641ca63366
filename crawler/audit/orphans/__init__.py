"""The orphan classes of pages, and whether the crawl was complete enough to call a page an orphan.

Pure. Start with ``classes.py``; ``certainty.py`` decides which findings stay inconclusive.
"""
