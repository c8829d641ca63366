-- Which pages do most pages link to?
SELECT url, inlinks, depth, state FROM pages ORDER BY inlinks DESC, url
