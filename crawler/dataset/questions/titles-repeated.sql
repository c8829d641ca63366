-- Which titles do several indexable pages have?
SELECT title, count(*) AS pages, min(url) AS example FROM pages WHERE indexable AND title != ''
GROUP BY title HAVING pages > 1 ORDER BY pages DESC, title
