-- Which indexable pages have no description?
SELECT url, title FROM pages WHERE indexable AND description = '' ORDER BY url
