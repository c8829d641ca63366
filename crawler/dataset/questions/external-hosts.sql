-- Which other hosts do most pages link to?
SELECT substr(target, instr(target, '//') + 2, instr(substr(target, instr(target, '//') + 2) || '/', '/') - 1) AS host,
  count(*) AS links, count(DISTINCT source) AS pages
FROM links WHERE kind = 'link' AND NOT internal GROUP BY host ORDER BY pages DESC, host
