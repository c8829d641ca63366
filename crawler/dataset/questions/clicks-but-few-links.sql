-- Which pages get clicks in search, and few links?
SELECT p.url, sum(s.clicks) AS clicks, sum(s.impressions) AS impressions, p.inlinks, p.depth
FROM pages p JOIN search s ON s.url = p.url GROUP BY p.url HAVING impressions > 0 AND p.inlinks < 5
ORDER BY clicks DESC, impressions DESC, p.url
