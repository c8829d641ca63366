"""The comparison of two audits in SQL: ``main`` has what this one found, ``past`` what the ones before did."""

from typing import Final

_TWINS: Final = """
INSERT INTO temp.pair
WITH ours AS (SELECT id, key, url, file, row_number() OVER (PARTITION BY {of} ORDER BY {by}) AS place
    FROM main.finding WHERE id NOT IN (SELECT now FROM temp.pair)),
  theirs AS (SELECT id, key, url, file, certain, row_number() OVER (PARTITION BY {of} ORDER BY {by}) AS place
    FROM past.finding WHERE id NOT IN (SELECT before FROM temp.pair))
SELECT ours.id, theirs.id, theirs.certain FROM ours JOIN theirs USING ({of}, place);
"""
PAIR: Final = f"""
CREATE TEMP TABLE pair (now INTEGER PRIMARY KEY, before INTEGER NOT NULL UNIQUE, certain INTEGER NOT NULL);
CREATE TEMP TABLE comparable (rule TEXT PRIMARY KEY) WITHOUT ROWID;
CREATE TEMP TABLE gone (id INTEGER PRIMARY KEY, rule TEXT, times INTEGER, fate INTEGER);
CREATE TEMP TABLE read AS SELECT DISTINCT file FROM main.entry;
{_TWINS.format(of="key, url, file", by="id")}
{_TWINS.format(of="key, url", by="file, id")}
{_TWINS.format(of="key", by="url, file, id")}
CREATE TEMP TABLE many AS
WITH place AS MATERIALIZED
  (SELECT rule, file FROM main.finding WHERE times > 1 UNION SELECT rule, file FROM past.finding WHERE times > 1),
  ours AS (SELECT rule, file, sum(times) AS total, max(times) > 1 AS cut FROM main.finding
    WHERE (rule, file) IN (SELECT rule, file FROM place) GROUP BY rule, file),
  theirs AS (SELECT rule, file, sum(times) AS total, max(times) > 1 AS cut FROM past.finding
    WHERE (rule, file) IN (SELECT rule, file FROM place) GROUP BY rule, file)
SELECT rule, file, ours.total AS now, theirs.total AS before, coalesce(ours.cut, 0) AS is_cut,
  coalesce(theirs.cut, 0) AS was_cut
FROM place LEFT JOIN ours USING (rule, file) LEFT JOIN theirs USING (rule, file);
"""  # noqa: S608 - names of columns
"""Which finding of this audit is which of the one before: in the same place, in another file, in another spelling.

``many`` are the places in which not each is told: their totals, and whether some are told by their number only.
"""
LAST: Final = "SELECT news, settings FROM past.audit ORDER BY number DESC LIMIT 1"
SINCE: Final = "UPDATE main.finding SET since = ?"
STOOD: Final = """
UPDATE main.finding SET since = b.since, stood = b.certain OR NOT main.finding.certain
FROM temp.pair p JOIN past.finding b ON b.id = p.before WHERE main.finding.id = p.now"""
"""What was inconclusive is not what stood, once it is certain."""
NEW: Final = """
UPDATE main.finding SET new = 1 WHERE certain AND times = 1 AND NOT stood
AND rule IN (SELECT rule FROM temp.comparable)
AND (rule, file) NOT IN (SELECT rule, file FROM temp.many WHERE was_cut)"""
MORE: Final = """
UPDATE main.finding SET stood = m.before IS NOT NULL, new = max(0, min(times, m.now - coalesce(m.before, 0) - m.told))
FROM (SELECT m.rule, m.file, m.now, m.before, sum(f.new) AS told FROM temp.many m
    JOIN main.finding f ON f.rule = m.rule AND f.file = m.file
    WHERE m.rule IN (SELECT rule FROM temp.comparable) GROUP BY m.rule, m.file) m
WHERE main.finding.rule = m.rule AND main.finding.file = m.file AND main.finding.times > 1 AND main.finding.certain"""
"""Of those that are told by their number as many are new as there are more of them, whichever they are."""
STILL: Final = "UPDATE main.finding SET stood = 1 WHERE NOT new AND id IN (SELECT now FROM temp.pair)"
PLACES: Final = """
CREATE INDEX by_url ON finding (url);
CREATE INDEX by_door ON entry (door) WHERE door != '';
"""
GONE: Final = """
SELECT b.id, b.rule, b.url, b.file, b.state, b.since, b.others, b.times, b.missed,
  coalesce(d.state, v.state, ''), coalesce(d.status, v.status), coalesce(d.target, v.target, ''),
  (SELECT group_concat(DISTINCT f.rule) FROM main.finding f WHERE f.url = b.url
    AND f.id NOT IN (SELECT now FROM temp.pair)),
  EXISTS (SELECT 1 FROM entry e WHERE e.url = b.url)
    OR EXISTS (SELECT 1 FROM entry e WHERE e.door != '' AND e.door = b.url),
  b.file IN (SELECT file FROM temp.read)
FROM past.finding b LEFT JOIN site.url u ON u.url = b.url LEFT JOIN site.visit v ON v.id = u.id
  LEFT JOIN main.door d ON d.url = b.url
WHERE b.certain AND b.id NOT IN (SELECT before FROM temp.pair)
AND (b.rule, b.file) NOT IN (SELECT rule, file FROM temp.many WHERE is_cut)"""
"""What is not found any more, with what this audit saw of its URL, and what was not found of that before."""
TRENDS: Final = """
SELECT rule, sum(new), sum(still), sum(mended), sum(undecided), sum(became) FROM (
  SELECT rule, new, stood * (times - new) AS still, 0 AS mended, 0 AS undecided, 0 AS became FROM main.finding
  UNION ALL SELECT rule, 0, 0, times * (fate = 1), times * (fate IN (2, 3)), times * (fate = 4) FROM temp.gone)
GROUP BY rule"""
FORGET: Final = """
DELETE FROM past.finding WHERE id NOT IN (SELECT id FROM temp.gone WHERE fate = 2) OR missed + 1 >= ?"""
"""All that was remembered, but what this audit could not decide; and that too after so many audits."""
MISSED: Final = "UPDATE past.finding SET missed = missed + 1"
KEEP: Final = """
INSERT INTO past.finding (missed, rule, key, url, file, state, times, others, since, certain)
SELECT 0, f.rule, f.key, f.url, f.file, f.state, f.times, f.others, f.since, f.certain != 0 OR coalesce(p.certain, 0)
FROM main.finding f LEFT JOIN temp.pair p ON p.now = f.id ORDER BY f.id"""
