-- Which indexable pages are shown in search, and have less than half of the average link weight?
SELECT p.url, sum(s.clicks) AS clicks, sum(s.impressions) AS impressions, p.weight, p.content_inlinks, p.inlinks, p.depth
FROM pages p JOIN search s ON s.url = p.url WHERE p.indexable AND p.weight < 0.5 GROUP BY p.url
HAVING sum(s.clicks + s.impressions) > 0 ORDER BY clicks DESC, impressions DESC, p.url
