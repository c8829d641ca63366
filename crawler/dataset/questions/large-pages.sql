-- Which pages are largest?
SELECT url, bytes, words FROM pages WHERE bytes IS NOT NULL ORDER BY bytes DESC, url
