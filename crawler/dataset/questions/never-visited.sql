-- Which indexable pages did no source of the last audit see a visit of?
WITH visited AS (SELECT url FROM visits UNION SELECT url FROM search WHERE clicks + sessions + views + users > 0)
SELECT url, inlinks, depth FROM pages
WHERE indexable AND url NOT IN visited AND EXISTS (SELECT 1 FROM visited) ORDER BY inlinks DESC, url
