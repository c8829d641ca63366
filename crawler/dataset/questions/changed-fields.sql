-- Which fields of which pages did the last run find changed?
SELECT url, field, before, after FROM history
WHERE run = (SELECT max(run) FROM runs WHERE history) AND field NOT LIKE '%link'
ORDER BY url, field
