-- Which hreflang versions of indexable pages do not name the page in return?
SELECT a.page, a.hreflang, a.url FROM alternates a JOIN pages p ON p.url = a.page
WHERE p.indexable AND a.url != a.page AND NOT EXISTS (SELECT 1 FROM alternates b WHERE b.page = a.url AND b.url = a.page)
ORDER BY a.page, a.hreflang
