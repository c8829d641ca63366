-- Which pages were read as scripts leave them?
SELECT url, words, outlinks FROM pages WHERE rendered ORDER BY url
