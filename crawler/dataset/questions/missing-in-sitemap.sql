-- Which indexable pages are missing from the site's own sitemaps?
SELECT url, depth, inlinks FROM pages
WHERE indexable AND url NOT IN (SELECT url FROM sitemap_entries WHERE NOT published) ORDER BY url
