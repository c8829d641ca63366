-- Which indexable pages get clicks in search, and have links from fewer than 5 pages?
SELECT p.url, sum(s.clicks) AS clicks, sum(s.impressions) AS impressions, p.inlinks, p.depth
FROM pages p JOIN search s ON s.url = p.url WHERE p.indexable AND p.inlinks < 5 GROUP BY p.url
HAVING sum(s.clicks) > 0 ORDER BY clicks DESC, impressions DESC, p.url
