-- How many links lead to URLs that are not indexable, by state?
SELECT p.state, count(*) AS links, count(DISTINCT p.url) AS urls FROM links l JOIN pages p ON p.url = l.target
WHERE l.kind = 'link' AND NOT p.indexable GROUP BY p.state ORDER BY links DESC, p.state
