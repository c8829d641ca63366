-- Which descriptions do several indexable pages have?
SELECT description, count(*) AS pages, min(url) AS example FROM pages WHERE indexable AND description != ''
GROUP BY description HAVING pages > 1 ORDER BY pages DESC, description
