-- Which pages took longest to answer?
SELECT url, seconds, bytes FROM pages WHERE status IS NOT NULL ORDER BY seconds DESC, url
