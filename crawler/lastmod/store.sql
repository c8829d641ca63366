-- name: deltas
SELECT v.id, (SELECT url FROM url WHERE id = v.id), c.delta, {_COUNTS} {_FROM_COMPARED}
  AND v.content != m.content AND c.run = ? AND c.delta != x'' ORDER BY

-- name: new_pages
SELECT u.url FROM visit v JOIN url u ON u.id = v.id
  WHERE v.state = 'indexable' AND v.id NOT IN (SELECT id FROM memory) LIMIT ?

-- name: gone_pages
SELECT u.url FROM memory m JOIN url u ON u.id = m.id LEFT JOIN visit v ON v.id = m.id
  WHERE m.state = 'indexable' AND v.state IS NOT 'indexable' LIMIT ?

-- name: differing
SELECT c.page {_FROM_COMPARED} AND {_COUNTS} AND v.content != m.content AND c.run = ? AND c.delta != x''

-- name: pages_with_url
SELECT v.id, u.url, c.page FROM visit v JOIN url u ON u.id = v.id JOIN content c ON c.id = v.content
  WHERE {_COUNTS} ORDER BY v.id

-- name: translated
SELECT v.id, (SELECT page FROM translated t WHERE t.id = v.id) AS stands {_FROM_COMPARED} AND {_COUNTS}
  AND stands NOT NULL

-- name: sample
SELECT v.id, c.id, c.text {_FROM_COMPARED} AND {_COUNTS}
  AND (v.id * 2654435761 & 4294967295) * ? < ? * 4294967296 ORDER BY v.id

-- name: mark_unchanged
UPDATE visit AS v SET changed = 0, evidence = '', discounted = '' FROM memory m
  WHERE m.id = v.id AND m.content IS NOT NULL AND v.content IS NOT NULL AND NOT v.carried

-- name: late
SELECT a.id, min(r.started) FROM asked_visit v JOIN asked a ON a.id = v.id
  JOIN memory m ON m.id = a.id JOIN run r ON r.started > strftime('%s', a.said) + iif(length(a.said) = 10, 86400, 0)
  WHERE a.said != a.seen AND m.seen_at < strftime('%s', a.said) + 0 GROUP BY a.id

-- name: pages
-- All parsed pages, listed or not: a page that comes back keeps its date. A URL that was no page before is new.
SELECT v.id, v.content, v.header_date, v.last_modified, v.page_date, v.page_date_source, v.seen_at,
    v.changed, iif(length(b.text) > 0 OR m.lastmod != '', m.content, NULL), m.lastmod, m.lastmod_source, m.seen_at
  FROM asked_visit v JOIN content c ON c.id = v.content LEFT JOIN memory m ON m.id = v.id
    LEFT JOIN content b ON b.id = m.content
  WHERE v.id > ? AND v.seen_at IS NOT NULL AND length(c.text) > 0 ORDER BY v.id LIMIT 1000

-- name: moved
-- The only page of the last run with a date that redirects permanently to a new page, with the texts of both.
WITH pair AS MATERIALIZED (
  SELECT t.id AS new, min(v.id) AS old FROM asked_visit v JOIN memory m ON m.id = v.id JOIN url t ON t.url = v.target
  WHERE v.state = 'redirect' AND v.status IN (301, 308) AND m.state = 'indexable' AND m.lastmod != ''
    AND NOT EXISTS (SELECT 1 FROM memory k WHERE k.id = t.id AND k.content IS NOT NULL)
  GROUP BY t.id HAVING count(*) = 1
)
SELECT n.id, m.lastmod, m.lastmod_source, was.text, now.text
  FROM pair JOIN memory m ON m.id = pair.old JOIN content was ON was.id = m.content
    JOIN visit n ON n.id = pair.new JOIN content now ON now.id = n.content

-- name: urls
SELECT v.id, u.url FROM visit v JOIN url u ON u.id = v.id JOIN content c ON c.id = v.content
  WHERE v.seen_at IS NOT NULL AND length(c.text) > 0 ORDER BY v.id

-- name: count_stamps
-- Pages only: the date of a feed is that of its newest entry. A site may repeat our own date, as crawler.serve gives it.
-- Pages of a landslide are not unchanged, although their differences do not count.
SELECT count(*), coalesce(sum(v.last_modified != m.last_modified
    AND coalesce(strftime('%s', v.header_date) != strftime('%s', m.lastmod), 1)), 0) {_FROM_COMPARED}
  AND length(c.text) > 0 AND v.changed = 0 AND v.last_modified != '' AND m.last_modified != '' AND m.source_key = ?
  AND v.id NOT IN turned

-- name: header_dates
SELECT CAST(strftime('%s', header_date) AS INTEGER), count(*) FROM visit
  WHERE header_date != '' AND state = 'indexable' GROUP BY 1 ORDER BY 1

-- name: count_header_dates
SELECT count(*) FROM visit WHERE header_date != '' AND state = 'indexable'

-- name: second_reads
SELECT s.id, c.text, s.delta FROM second_read s JOIN visit v ON v.id = s.id
  JOIN content c ON c.id = v.content WHERE s.run = ? AND s.delta IS NOT NULL ORDER BY s.id
