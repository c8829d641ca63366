-- Which pages are largest?
SELECT url, bytes, words FROM pages WHERE status IS NOT NULL ORDER BY bytes DESC, url
