-- Which canonicals lead to a URL that is not indexable?
SELECT p.url, p.canonical, t.state, t.reason FROM pages p JOIN pages t ON t.url = p.canonical
WHERE p.canonical != p.url AND NOT t.indexable ORDER BY p.url
