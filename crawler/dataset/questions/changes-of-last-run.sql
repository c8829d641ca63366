-- What changed in the sitemap in the last run?
SELECT change, url, target, before, after, reason FROM changes
WHERE run = (SELECT max(run) FROM runs) ORDER BY change, url
