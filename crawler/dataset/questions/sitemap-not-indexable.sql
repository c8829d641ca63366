-- Which URLs in the site's own sitemaps are not indexable, such as redirects, or pages with another canonical?
SELECT e.sitemap, e.url, p.state, p.reason, p.target FROM sitemap_entries e JOIN pages p ON p.url = e.url
WHERE NOT e.published AND NOT p.indexable ORDER BY e.url
