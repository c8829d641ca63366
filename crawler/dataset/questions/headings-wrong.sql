-- Which indexable pages have no h1, or several?
SELECT url, h1_count, h1 FROM pages WHERE indexable AND h1_count != 1 ORDER BY h1_count, url
