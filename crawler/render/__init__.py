"""Renders pages that scripts draw: a Chromium without a network, whose requests take the road of the crawl.

Front door: ``renderer.py``; ``templates.py`` decides which pages are rendered. May import parse, robots, fetch, state
and url.
"""
