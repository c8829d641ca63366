-- Which pages link to no other page?
SELECT url, words FROM pages WHERE indexable AND outlinks = 0 ORDER BY url
