-- Which pages get many clicks in search, or are shown often, and have little link weight?
SELECT p.url, sum(s.clicks) AS clicks, sum(s.impressions) AS impressions, p.weight, p.content_inlinks, p.inlinks, p.depth
FROM pages p JOIN search s ON s.url = p.url WHERE p.weight < 0.5 GROUP BY p.url HAVING impressions > 0
ORDER BY clicks DESC, impressions DESC, p.url
