-- Which URLs differ by upper case, a final slash or parameters only?
SELECT lower(rtrim(substr(url, 1, instr(url || '?', '?') - 1), '/')) AS form, count(*) AS urls, min(url) AS example,
  max(url) AS another
FROM pages GROUP BY form HAVING urls > 1 ORDER BY urls DESC, form
