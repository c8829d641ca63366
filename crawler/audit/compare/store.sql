-- name: last_audit
SELECT news, settings FROM past.audit ORDER BY number DESC LIMIT 1

-- name: audits_before
SELECT news FROM past.audit WHERE number < ? ORDER BY number

-- name: set_since
UPDATE main.finding SET since = ?

-- name: set_compared
UPDATE main.finding SET new = 0 WHERE rule IN (SELECT rule FROM temp.comparable)

-- name: set_stood
-- An inconclusive finding that is certain now counts as new.
UPDATE main.finding SET since = b.since, stood = b.certain OR NOT main.finding.certain
FROM temp.pair p JOIN past.finding b ON b.id = p.before WHERE main.finding.id = p.now

-- name: set_new
UPDATE main.finding SET new = 1 WHERE certain AND times = 1 AND NOT stood AND accepted IS NULL
AND rule IN (SELECT rule FROM temp.comparable)
AND (rule, file) NOT IN (SELECT rule, file FROM temp.many WHERE was_cut)

-- name: set_new_by_count
-- Of findings that are only counted, the increase is new.
UPDATE main.finding SET stood = m.before IS NOT NULL, new = max(0, min(times, m.now - coalesce(m.before, 0) - m.told))
FROM (SELECT m.rule, m.file, m.now, m.before, sum(f.new) AS told FROM temp.many m
    JOIN main.finding f ON f.rule = m.rule AND f.file = m.file
    WHERE m.rule IN (SELECT rule FROM temp.comparable) GROUP BY m.rule, m.file) m
WHERE main.finding.rule = m.rule AND main.finding.file = m.file AND main.finding.times > 1 AND main.finding.certain
AND main.finding.accepted IS NULL

-- name: set_still
UPDATE main.finding SET stood = 1 WHERE NOT coalesce(new, 0) AND id IN (SELECT now FROM temp.pair)

-- name: indexes
CREATE INDEX by_url ON finding (url);
CREATE INDEX by_door ON entry (door) WHERE door != '';

-- name: missing_findings
-- Findings that this audit does not have, with the current state of their URL and its new findings.
SELECT b.id, b.rule, b.url, b.file, b.state, b.since, b.others, b.times, b.missed,
  coalesce(d.state, v.state, ''), coalesce(d.status, v.status), coalesce(d.target, v.target, ''),
  coalesce(d.reason, v.reason, ''),
  (SELECT group_concat(DISTINCT f.rule) FROM main.finding f WHERE f.url = b.url
    AND f.id NOT IN (SELECT now FROM temp.pair)),
  EXISTS (SELECT 1 FROM entry e WHERE e.url = b.url)
    OR EXISTS (SELECT 1 FROM entry e WHERE e.door != '' AND e.door = b.url),
  b.file IN (SELECT file FROM temp.read)
FROM past.finding b LEFT JOIN site.url u ON u.url = b.url LEFT JOIN site.visit v ON v.id = u.id
  LEFT JOIN main.door d ON d.url = b.url
WHERE b.certain AND b.id NOT IN (SELECT before FROM temp.pair)
AND (b.rule, b.file) NOT IN (SELECT rule, file FROM temp.many WHERE is_cut)

-- name: rule_trends
SELECT rule, coalesce(sum(new), 0), sum(still), sum(mended), sum(undecided), sum(became) FROM (
  SELECT rule, new, stood * (times - coalesce(new, 0)) AS still, 0 AS mended, 0 AS undecided, 0 AS became
    FROM main.finding WHERE accepted IS NULL
  UNION ALL SELECT rule, 0, 0, times * (outcome = 1), times * (outcome IN (2, 3)), times * (outcome = 4) FROM temp.gone)
GROUP BY rule

-- name: undecided
SELECT DISTINCT g.rule, iif(b.url = '', b.file, b.url), g.why FROM temp.gone g JOIN past.finding b ON b.id = g.id
WHERE g.outcome IN (2, 3) ORDER BY 1, 2 LIMIT ?

-- name: forget_findings
-- Deletes earlier findings, except those that this audit could not decide; these too after so many audits.
DELETE FROM past.finding WHERE id NOT IN (SELECT id FROM temp.gone WHERE outcome = 2) OR missed + 1 >= ?

-- name: count_missed
UPDATE past.finding SET missed = missed + 1

-- name: store_findings
INSERT INTO past.finding (missed, rule, key, url, file, state, times, others, since, certain)
SELECT 0, f.rule, f.key, f.url, f.file, f.state, f.times, f.others, f.since, f.certain != 0 OR coalesce(p.certain, 0)
FROM main.finding f LEFT JOIN temp.pair p ON p.now = f.id ORDER BY f.id
