-- Which URLs that do not work do people, bots or search results still lead to?
SELECT p.url, p.state, p.status, sum(v.people) AS people, sum(v.bots) AS bots, max(v.last_day) AS last_day
FROM pages p JOIN visits v ON v.url = p.url WHERE p.state IN ('client error', 'soft 404', 'server error', 'unreachable')
GROUP BY p.url ORDER BY people + bots DESC, p.url
