-- Which URLs in the site's own sitemaps are not indexable?
SELECT e.sitemap, e.url, p.state, p.reason FROM sitemap_entries e JOIN pages p ON p.url = e.url
WHERE NOT e.published AND NOT p.indexable ORDER BY e.url
