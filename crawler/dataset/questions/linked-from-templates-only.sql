-- Which pages do menus, footers and other boxes link to, and no text or list?
SELECT p.url, p.inlinks, group_concat(DISTINCT l.place) AS places, p.title
FROM pages p JOIN links l ON l.target = p.url AND l.kind = 'link' AND l.source != l.target
WHERE p.indexable AND p.inlinks > 0 AND p.content_inlinks = 0 AND l.place IS NOT NULL GROUP BY p.url
ORDER BY p.inlinks, p.url
