-- Which URLs that do not work do people, bots, search results or other sites still lead to?
SELECT p.url, p.state, p.status, sum(v.people) AS people, sum(v.bots) AS bots, max(v.last_day) AS last_day,
  sum(v.clicks) AS clicks, sum(v.impressions) AS impressions, sum(v.sessions) AS sessions, sum(v.backlinks) AS backlinks
FROM pages p JOIN (SELECT url, people, bots, last_day, 0 AS clicks, 0 AS impressions, 0 AS sessions, 0 AS backlinks
    FROM visits UNION ALL SELECT url, 0, 0, NULL, clicks, impressions, sessions, backlinks FROM search) v ON v.url = p.url
WHERE p.state IN ('client error', 'soft 404', 'server error', 'unreachable')
GROUP BY p.url ORDER BY total(v.people) + total(v.bots) + total(v.clicks) + total(v.sessions) DESC, impressions DESC, backlinks DESC, p.url
