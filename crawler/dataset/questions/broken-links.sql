-- Which internal links are broken, and on which pages do they stand? broken-link-targets has one row for each target.
SELECT l.source, l.target, p.state, p.status, r.final, l.place, count(*) AS links, min(l.anchor) AS anchor
FROM links l JOIN pages p ON p.url = l.target LEFT JOIN redirects r ON r.url = l.target
WHERE l.kind = 'link' AND (r.loop OR coalesce(r.final_state, p.state) IN ('client error', 'server error', 'unreachable',
  'soft 404'))
GROUP BY l.target, l.source, l.place ORDER BY l.target, l.source, l.place
