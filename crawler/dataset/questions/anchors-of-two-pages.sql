-- Which link texts lead to more than one page?
SELECT anchor, count(DISTINCT target) AS targets, min(target) AS example, max(target) AS another FROM links
WHERE kind = 'link' AND internal AND anchor != '' GROUP BY anchor HAVING targets > 1 ORDER BY targets DESC, anchor
