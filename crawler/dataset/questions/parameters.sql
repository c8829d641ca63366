-- Which parameters are in most URLs?
WITH RECURSIVE part (rest, name) AS (
  SELECT substr(url, instr(url, '?') + 1) || '&', NULL FROM pages WHERE instr(url, '?') > 0
  UNION ALL SELECT substr(rest, instr(rest, '&') + 1),
    substr(rest, 1, instr(substr(rest, 1, instr(rest, '&') - 1) || '=', '=') - 1) FROM part WHERE rest != '')
SELECT name AS parameter, count(*) AS urls FROM part WHERE name IS NOT NULL GROUP BY name ORDER BY urls DESC, name
