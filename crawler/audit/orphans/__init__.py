"""Which pages nothing links to, of which class they are, and whether the crawl was complete enough to say so.

Pure. Front door: ``classes.py``; ``certainty.py`` decides what stays inconclusive.
"""
