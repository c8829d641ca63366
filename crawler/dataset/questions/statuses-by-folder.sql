-- How many URLs of each status are in each folder?
WITH p AS (SELECT *, substr(url, instr(url, '//') + 2) AS rest FROM pages),
f AS (SELECT *, substr(rest, instr(rest || '/', '/')) AS path FROM p)
SELECT CASE WHEN instr(substr(path, 2), '/') > 0 THEN substr(path, 1, instr(substr(path, 2), '/') + 1) ELSE '/' END
  AS folder, status, count(*) AS urls
FROM f GROUP BY folder, status ORDER BY folder, status
