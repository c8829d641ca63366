-- Which indexable pages do only menus, footers and other boxes link to, nofollow links aside?
SELECT p.url, p.inlinks, group_concat(DISTINCT l.place) AS places, p.title
FROM pages p JOIN links l ON l.target = p.url AND l.kind = 'link' AND NOT l.nofollow AND l.source != l.target
WHERE p.indexable AND p.inlinks > 0 AND p.content_inlinks = 0 AND l.place IS NOT NULL GROUP BY p.url
ORDER BY p.inlinks, p.url
