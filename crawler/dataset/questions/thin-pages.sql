-- Which indexable pages have fewer than 100 words?
SELECT url, words, title FROM pages WHERE indexable AND words < 100 ORDER BY words, url
