-- Which URLs are linked by nofollow links only?
SELECT target, count(DISTINCT source) AS pages FROM links
WHERE kind = 'link' AND internal AND source != target GROUP BY target HAVING min(nofollow) = 1 ORDER BY target
