-- Which indexable pages in a sitemap does no page link to?
SELECT DISTINCT p.url, p.found FROM sitemap_entries e JOIN pages p ON p.url = e.url
WHERE p.inlinks = 0 AND p.indexable AND p.depth IS NOT 0 ORDER BY p.url
