-- Which indexable pages are linked from pages that are not indexable only?
SELECT p.url, count(DISTINCT l.source) AS pages FROM pages p JOIN links l ON l.target = p.url AND l.kind = 'link'
JOIN pages s ON s.url = l.source
WHERE p.indexable AND l.source != l.target GROUP BY p.url HAVING max(s.indexable) = 0 ORDER BY p.url
