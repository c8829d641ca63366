"""What other systems know of the site's URLs: sitemaps, access logs, exports, lists.

Each reader turns its input into claims (``audit/claim.py``). May import audit.claim, url and sitemap.
"""
