"""Rules about what is listed: entries, lastmod, hreflang, redirects and media, against what the crawl saw.

Every module is pure: values in, findings out. Callers go to the module named after the rule.
"""
