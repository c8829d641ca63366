-- Which links go through a redirect?
SELECT l.source, l.anchor, l.target, r.final, r.hops FROM links l JOIN redirects r ON r.url = l.target
WHERE l.kind = 'link' ORDER BY l.target, l.source
