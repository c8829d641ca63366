-- Which PDF files and other documents does no page link to, and who visits them?
SELECT p.url, p.reason, sum(v.people) AS people, sum(v.bots) AS bots, max(v.last_day) AS last_day
FROM pages p LEFT JOIN visits v ON v.url = p.url
WHERE p.inlinks = 0 AND p.state = 'wrong type' AND p.reason NOT LIKE 'image/%' AND p.reason NOT LIKE 'video/%'
  AND p.reason NOT LIKE 'audio/%' AND p.reason NOT LIKE 'font/%' AND p.reason NOT LIKE 'text/css%'
  AND p.reason NOT LIKE '%script%'
GROUP BY p.url ORDER BY people DESC, bots DESC, p.url
