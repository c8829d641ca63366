"""Renders pages that scripts draw: a Chromium without a network, whose requests take the road of the crawl.

Front door: ``renderer.py``. Which pages are rendered: ``templates.py``. May import parse, robots, fetch and state.
"""
