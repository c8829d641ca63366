-- Which URLs are not indexable, and why?
SELECT url, state, reason, status FROM pages WHERE NOT indexable ORDER BY state, url
