-- Which URLs in the site's own sitemaps name another URL as their canonical?
SELECT e.sitemap, p.url, p.target FROM sitemap_entries e JOIN pages p ON p.url = e.url
WHERE NOT e.published AND p.state = 'canonical elsewhere' ORDER BY p.url
