-- name: publishing
-- The runs that have a feed: those that published their set, and rollbacks.
SELECT number FROM run WHERE outcome IN ('published', 'unchanged', 'rolled back') ORDER BY 1

-- name: last_published
SELECT max(number) FROM run WHERE outcome IN ('published', 'unchanged') AND number < ?

-- name: forget
DELETE FROM change WHERE run <= :old AND run != :last

-- name: difference
WITH difference (kind, id) AS (
  SELECT 'added', l.id FROM listing l WHERE NOT EXISTS (SELECT 1 FROM published p WHERE p.id = l.id)
  UNION ALL
  SELECT 'gone', p.id FROM published p WHERE NOT EXISTS (SELECT 1 FROM listing l WHERE l.id = p.id)
  UNION ALL
  SELECT 'changed', l.id FROM listing l JOIN published p ON p.id = l.id JOIN visit v ON v.id = l.id
    LEFT JOIN memory m ON m.id = l.id
    WHERE NOT l.kept AND (v.changed = 1 OR (m.changed_run > :before AND m.evidence != '') OR l.lastmod > p.lastmod)
)
SELECT u.url, d.kind, coalesce(l.lastmod, ''), coalesce(p.lastmod, ''), v.found, s.url, v.state, v.reason, v.target,
  v.evidence, v.changed, m.state, m.reason, m.failures,
  iif(m.changed_run > :before, m.evidence, '')
FROM difference d CROSS JOIN url u ON u.id = d.id -- CROSS: find the differences first, then sort by URL
  LEFT JOIN listing l ON l.id = d.id LEFT JOIN published p ON p.id = d.id
  LEFT JOIN visit v ON v.id = d.id LEFT JOIN url s ON s.id = v.source
  LEFT JOIN memory m ON m.id = d.id AND m.last_run < :run
ORDER BY u.url

-- name: select_hop
SELECT l.id IS NOT NULL, v.reason, v.target
  FROM url u LEFT JOIN listing l ON l.id = u.id LEFT JOIN visit v ON v.id = u.id WHERE u.url = ?

-- name: select_first
{_SELECT_CHANGES} AND c.kind = :kind ORDER BY c.url LIMIT :limit
