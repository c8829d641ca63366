-- Which links lead to http, or to another spelling of the host?
SELECT source, target, anchor FROM links
WHERE kind = 'link' AND target LIKE 'http://%' AND source LIKE 'https://%' ORDER BY target, source
