-- name: insert_found
INSERT INTO listing (id, content, lastmod, lastmod_source, grp, shard)
  SELECT v.id, v.content, v.lastmod, v.lastmod_source, coalesce(p.grp, ''), nullif(p.shard, 0)
  FROM visit v LEFT JOIN published p ON p.id = v.id WHERE v.state = 'indexable' AND v.content IS NOT NULL

-- name: insert_unproven
-- While a run carries visits that are older than the loss of the last link, one of these pages may link to it by now.
INSERT OR IGNORE INTO listing (id, content, lastmod, lastmod_source, grp, shard, kept)
  SELECT p.id, p.content, p.lastmod, p.lastmod_source, p.grp, nullif(p.shard, 0), 1
  FROM published p JOIN visit v ON v.id = p.id LEFT JOIN asked a ON a.id = p.id WHERE v.state = '{State.UNLINKED}'
    AND (SELECT min(c.at) FROM asked c JOIN visit w ON w.id = c.id JOIN published q ON q.id = c.id WHERE w.carried)
      < a.at

-- name: insert_not_yet
INSERT INTO listing (id, content, lastmod, lastmod_source, grp, shard, kept)
  SELECT p.id, p.content, p.lastmod, p.lastmod_source, p.grp, nullif(p.shard, 0), 1
  FROM published p LEFT JOIN visit v ON v.id = p.id WHERE v.id IS NULL OR v.state = 'pending'

-- name: insert_held
INSERT INTO listing (id, content, lastmod, lastmod_source, grp, shard, kept)
  SELECT p.id, p.content, p.lastmod, p.lastmod_source, p.grp, nullif(p.shard, 0), 2
  FROM published p LEFT JOIN visit v ON v.id = p.id WHERE NOT EXISTS (SELECT 1 FROM listing l WHERE l.id = p.id)
    AND p.id NOT IN (SELECT id FROM believed) AND coalesce(v.state, '') NOT IN (SELECT value FROM json_each(:operator))
    AND ({KIND_SQL} IN (SELECT value FROM json_each(:kinds))
      OR p.id IN (SELECT id FROM alike) OR p.id IN (SELECT id FROM held))

-- name: delete_targets
-- New pages to which held pages lead are a part of the same landslide.
DELETE FROM listing WHERE NOT kept AND id NOT IN (SELECT id FROM published) AND id IN (
  WITH RECURSIVE hop (url) AS (
    SELECT v.target FROM listing h JOIN visit v ON v.id = h.id WHERE h.kept = 2 AND v.target IS NOT NULL
    UNION SELECT v.target FROM hop JOIN url u ON u.url = hop.url JOIN visit v ON v.id = u.id WHERE v.target IS NOT NULL)
  SELECT u.id FROM hop JOIN url u ON u.url = hop.url)

-- name: verdict
SELECT iif(l.kept, '{State.INDEXABLE}', v.state), v.reason, v.target
  FROM url u JOIN visit v ON v.id = u.id LEFT JOIN listing l ON l.id = u.id WHERE u.url = ?

-- name: date_range
SELECT min(l.lastmod), max(l.lastmod), count(*), max(l.lastmod IS NOT p.lastmod)
  FROM listing l LEFT JOIN published p ON p.id = l.id WHERE l.lastmod != '' AND {_IS_STATED}

-- name: times
SELECT CAST(strftime('%s', l.lastmod) AS INTEGER), count(*) FROM listing l
  WHERE l.lastmod LIKE '%T%' AND {_IS_STATED} GROUP BY 1 ORDER BY 1

-- name: copies
SELECT sum(pages - 1), min(first), last FROM (
  SELECT count(*) AS pages, min(u.url) AS first, max(u.url) AS last
  FROM listing l JOIN content c ON c.id = l.content JOIN url u ON u.id = l.id WHERE NOT l.kept
  GROUP BY c.digest HAVING pages > 1)

-- name: unlinked
-- A page that robots.txt blocks may link to any of them.
SELECT count(*), min(u.url) FROM listing l JOIN visit v ON v.id = l.id JOIN url u ON u.id = l.id
  WHERE NOT l.kept AND v.found & ~({DiscoveredBy.SITEMAP} | {DiscoveredBy.PREVIOUS_RUN}) = 0
    AND NOT EXISTS (SELECT 1 FROM visit WHERE state = '{State.ROBOTS}')

-- name: lost_links
SELECT count(*), min(u.url) FROM published p JOIN visit v ON v.id = p.id JOIN url u ON u.id = p.id
  WHERE v.state = '{State.CLIENT_ERROR}' AND v.status IN (404, 410) AND v.found & {DiscoveredBy.LINK}
    AND NOT EXISTS (SELECT 1 FROM listing l WHERE l.id = p.id)

-- name: lost_dates
-- The memory has the dates of pages that were not published for a while, or without dates (policy none).
SELECT count(*) FROM (
    SELECT l.lastmod, coalesce(nullif(p.lastmod, ''), iif(:policy = 'none', '', m.lastmod)) AS before
    FROM listing l LEFT JOIN published p ON p.id = l.id LEFT JOIN memory m ON m.id = l.id
    LEFT JOIN visit v ON v.id = l.id WHERE v.changed IS NOT 1)
  WHERE lastmod != before AND coalesce(julianday(lastmod), 0) < julianday(before)

-- name: disbelieved
SELECT count(*) FROM listing l JOIN visit v ON v.id = l.id LEFT JOIN published p ON p.id = l.id
  WHERE l.lastmod = '' AND p.id IS NULL AND v.last_modified != '' AND :policy NOT IN ('header', 'page', 'none')

-- name: sampled_pages
SELECT c.page FROM listing l JOIN content c ON c.id = l.content
  WHERE c.page IS NOT NULL AND (l.id * 2654435761 & 4294967295) * ? < ? * 4294967296

-- name: not_visited
SELECT p.id, u.url FROM published p JOIN url u ON u.id = p.id
  WHERE p.id > ? AND NOT EXISTS (SELECT 1 FROM visit v WHERE v.id = p.id) ORDER BY p.id LIMIT 1000
