-- name: pages
SELECT u.url, v.id FROM site.visit v JOIN site.url u ON u.id = v.id WHERE v.state = ?

-- name: is_page
SELECT 1 FROM site.url u JOIN site.visit v ON v.id = u.id WHERE u.url = ? AND v.state = ?

-- name: find_spelling
SELECT id FROM spelling WHERE key = ? LIMIT 2

-- name: nofollow_urls
SELECT v.id, u.url FROM site.visit v JOIN site.url u ON u.id = v.id
  WHERE v.state = ? AND NOT EXISTS (SELECT 1 FROM claim c WHERE c.url = u.url)

-- name: behind_aliases
SELECT :own || substr(u.url, length(:alias) + 1) AS own FROM site.url u
    JOIN site.visit v ON v.id = u.id AND v.state = :state AND v.status IS NULL WHERE u.url >= :alias AND u.url < :end
  AND NOT EXISTS (SELECT 1 FROM site.url o JOIN site.visit p ON p.id = o.id WHERE o.url = own)

-- name: seed
SELECT value FROM site.about WHERE key = 'url'

-- name: count_requested
SELECT count(*) FROM site.visit WHERE found & ?

-- name: match_same_url
INSERT OR IGNORE INTO home SELECT DISTINCT c.url, v.id FROM claim c
  JOIN site.url u ON u.url = c.url JOIN site.visit v ON v.id = u.id WHERE v.state = ?

-- name: maskable_pages
-- Requests that all failed are no visits to the page with a similar spelling.
SELECT v.id, u.url FROM site.visit v JOIN site.url u ON u.id = v.id
  WHERE v.state = ? AND (instr(u.url, '?') OR instr(u.url, '@') OR instr(u.url, '%40') OR instr(u.url, '+'))

-- name: match_masked_url
INSERT OR IGNORE INTO home SELECT DISTINCT url, ? FROM claim WHERE url = ?

-- name: unmatched_urls
SELECT DISTINCT c.url, v.id, v.state, v.target FROM claim c
  LEFT JOIN site.url u ON u.url = c.url LEFT JOIN site.visit v ON v.id = u.id
  WHERE NOT EXISTS (SELECT 1 FROM home h WHERE h.url = c.url)
    AND (v.id IS NOT NULL OR c.dead = 0 OR c.ok + c.moved > 0)

-- name: state_of_url
SELECT v.id, v.state, v.target FROM site.url u JOIN site.visit v ON v.id = u.id WHERE u.url = ?

-- name: is_listed
SELECT EXISTS (SELECT 1 FROM claim c JOIN input i ON i.id = c.input WHERE c.url = ? AND i.source = ?)

-- name: has_unresolved
SELECT EXISTS (SELECT 1 FROM claim c JOIN input i ON i.id = c.input LEFT JOIN home h ON
h.url = c.url
  LEFT JOIN site.visit v ON v.id = h.id WHERE i.source = ? AND (v.id IS NULL OR v.state IN (?, ?)))

-- name: duplicates
SELECT s.key, s.id, u.url, c.digest, c.page, c.text
  FROM spelling s JOIN site.url u ON u.id = s.id JOIN site.visit v ON v.id = s.id
    LEFT JOIN site.content c ON c.id = v.content
  WHERE s.key IN (SELECT key FROM spelling GROUP BY key HAVING count(*) > 1) ORDER BY s.key, s.id

-- name: listed_copies
-- Unlisted pages with the content of a listed one, whose URL is another spelling or the same without parameters.
WITH listed AS (SELECT h.id FROM claim c JOIN input i ON i.id = c.input
    JOIN home h ON h.url = c.url WHERE i.source = ?), pair AS (
  SELECT u.id AS copy, b.id AS page FROM site.url u JOIN site.url b ON b.url = substr(u.url, 1, instr(u.url, '?') - 1)
  UNION ALL SELECT s.id, o.id FROM spelling s JOIN spelling o ON o.key = s.key)
SELECT pair.copy FROM pair JOIN site.visit v ON v.id = pair.copy JOIN site.content c ON c.id = v.content
  JOIN site.visit p ON p.id = pair.page AND p.state = v.state JOIN site.content d ON d.id = p.content
  WHERE v.state = ? AND c.digest = d.digest AND pair.page IN listed AND pair.copy NOT IN listed

-- name: extra_params
SELECT v.id, u.url, c.digest, c.text, c.page, p.id, b.url, d.digest, d.text,
    d.page
  FROM site.visit v JOIN site.url u ON u.id = v.id JOIN site.content c ON c.id = v.content
    JOIN site.url b ON b.url = substr(u.url, 1, instr(u.url, '?') - 1)
    JOIN site.visit p ON p.id = b.id AND p.state = v.state JOIN site.content d ON d.id = p.content
  WHERE v.state = ? AND instr(u.url, '?') AND (v.{_ONLY_FOUND_BY_SOURCES} OR p.{_ONLY_FOUND_BY_SOURCES})
