-- Which pages are more than 4 clicks from the start page?
SELECT url, depth, inlinks FROM pages WHERE indexable AND depth > 4 ORDER BY depth DESC, url
