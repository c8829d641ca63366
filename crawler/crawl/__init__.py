"""The crawl of one site: frontier, worker, indexability. Front door: ``visit.py``.

``engine.py`` leases URLs to ``worker.py``, which is the road of one URL: ``page_fetcher.py`` fetches it, the parser
processes parse it, ``outcome.py`` judges it by ``indexability.py``. May import lastmod, render, parse, config, robots,
fetch, state and url.
"""
