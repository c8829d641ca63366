-- name: entries
-- The earlier run is in ``memory`` until this run is closed; the run that read the content stays in ``content``.
SELECT e.id, e.url, e.loc, e.door, e.file, e.line, e.lastmod, v.state, v.seen_at, v.header_date, v.page_date,
  v.page_date_source, v.changed, v.content = m.content, iif(m.seen_at < v.seen_at, m.seen_at, NULL), m.lastmod,
  m.lastmod_source,
  (SELECT r.ended FROM site.content c JOIN site.run r ON r.number = c.run
    WHERE c.id = v.content AND r.ended < v.seen_at)
FROM entry e LEFT JOIN site.url u ON u.url = e.url LEFT JOIN site.visit v ON v.id = u.id
  LEFT JOIN site.memory m ON m.id = v.id
WHERE e.id > ? ORDER BY e.id LIMIT ?

-- name: set_page
UPDATE entry SET page = (SELECT h.id FROM home h WHERE h.url = entry.url)

-- name: spellings
SELECT u.url, e.url, e.door, e.loc, e.file, e.line FROM entry e JOIN site.url u ON u.id = e.page
WHERE e.page IN (SELECT page FROM entry WHERE page IS NOT NULL GROUP BY page HAVING count(DISTINCT loc) > 1)
ORDER BY e.page, e.id

-- name: find_place
SELECT file, line FROM entry WHERE url = ? AND door = '' LIMIT 1

-- name: alias_urls
SELECT door FROM entry WHERE door != '' GROUP BY door ORDER BY min(id) LIMIT ?

-- name: put_alias_result
INSERT OR REPLACE INTO door VALUES (?, ?, ?, ?, ?, ?)

-- name: media
SELECT id, url, loc, file, line, media FROM entry WHERE id > ? AND media != x'' ORDER BY id LIMIT ?

-- name: distrust
SELECT value FROM site.about WHERE key = 'last_modified_distrusted'
