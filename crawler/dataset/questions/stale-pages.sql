-- Which pages changed longest ago?
SELECT url, lastmod, lastmod_source FROM pages WHERE indexable AND lastmod IS NOT NULL ORDER BY lastmod, url
