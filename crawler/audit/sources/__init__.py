"""Readers of sources that name URLs of the site: sitemaps, access logs, exports, lists.

Each reader turns its input into claims (``audit/claim.py``). May import audit.claim, url and sitemap.
"""
