-- Which PDF files and other documents does no page link to, and who visits them?
SELECT p.url, p.status, p.content_type, sum(v.people) AS people, sum(v.bots) AS bots, max(v.last_day) AS last_day
FROM pages p LEFT JOIN visits v ON v.url = p.url
WHERE p.inlinks = 0 AND p.status = 200 AND p.content_type IS NOT NULL
  AND p.content_type NOT LIKE 'text/html%' AND p.content_type NOT LIKE 'application/xhtml%'
  AND p.content_type NOT LIKE 'image/%' AND p.content_type NOT LIKE 'text/css%' AND p.content_type NOT LIKE '%script%'
GROUP BY p.url ORDER BY people DESC, bots DESC, p.url
