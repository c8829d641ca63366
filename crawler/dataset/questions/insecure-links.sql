-- Which links on https pages lead to http?
SELECT source, target, anchor FROM links
WHERE kind = 'link' AND target LIKE 'http://%' AND source LIKE 'https://%' ORDER BY target, source
