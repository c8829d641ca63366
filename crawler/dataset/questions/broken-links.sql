-- Which internal links are broken, and on which pages do they stand?
SELECT l.source, l.anchor, l.place, l.target, p.state, p.status, r.final
FROM links l JOIN pages p ON p.url = l.target LEFT JOIN redirects r ON r.url = l.target
WHERE l.kind = 'link' AND (r.loop OR coalesce(r.final_state, p.state) IN ('client error', 'server error', 'unreachable',
  'soft 404'))
ORDER BY l.target, l.source
