-- Which broken targets do most pages link to? One repair in a template mends many.
SELECT l.target, p.state, p.status, r.final, count(DISTINCT l.source) AS pages, group_concat(DISTINCT l.place) AS places
FROM links l JOIN pages p ON p.url = l.target LEFT JOIN redirects r ON r.url = l.target
WHERE l.kind = 'link' AND (r.loop OR coalesce(r.final_state, p.state) IN ('client error', 'server error', 'unreachable',
  'soft 404'))
GROUP BY l.target ORDER BY pages DESC, l.target
