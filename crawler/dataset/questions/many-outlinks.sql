-- Which pages have more than 100 outlinks?
SELECT url, outlinks, external_outlinks FROM pages WHERE outlinks + external_outlinks > 100
ORDER BY outlinks + external_outlinks DESC, url
