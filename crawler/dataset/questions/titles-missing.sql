-- Which indexable pages have no title?
SELECT url, h1 FROM pages WHERE indexable AND coalesce(title, '') = '' ORDER BY url
