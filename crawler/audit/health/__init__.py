"""Rules on sitemap entries, lastmod, hreflang, redirects and media, checked against what the crawl saw.

Every module is pure: values in, findings out. Each module is named after its rules.
"""
