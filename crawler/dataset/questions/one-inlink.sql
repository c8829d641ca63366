-- Which indexable pages does one page only link to?
SELECT p.url, min(l.source) AS source FROM pages p JOIN links l ON l.target = p.url
WHERE p.indexable AND p.inlinks = 1 AND l.kind = 'link' AND NOT l.nofollow AND l.source != l.target
GROUP BY p.url ORDER BY p.url
