-- Which pages took longest to answer?
SELECT url, seconds, bytes FROM pages WHERE seconds IS NOT NULL ORDER BY seconds DESC, url
