-- Which indexable pages did no source of the last audit see a visit of?
SELECT url, inlinks, depth FROM pages
WHERE indexable AND url NOT IN (SELECT url FROM visits) AND EXISTS (SELECT 1 FROM visits) ORDER BY inlinks DESC, url
