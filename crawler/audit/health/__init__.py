"""Rules on sitemap entries, lastmod, hreflang, redirects and media, checked against what the crawl saw.

Pure: values in, findings out. Front doors: the modules, each named after its rules. May import lastmod, parse, fetch
and url.
"""
