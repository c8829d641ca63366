"""The crawl of one site: frontier, worker, indexability. Front door: ``visit.py``.

``engine.py`` leases URLs to workers; ``worker.py`` is the road of one URL. May import lastmod, parse, config, robots,
fetch, state and url.
"""
