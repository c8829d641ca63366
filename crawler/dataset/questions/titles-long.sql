-- Which titles have more than 60 characters?
SELECT url, title, length(title) AS characters FROM pages WHERE indexable AND length(title) > 60 ORDER BY characters DESC, url
