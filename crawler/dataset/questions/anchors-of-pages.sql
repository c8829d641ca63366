-- Which texts do links to each page have?
SELECT target, anchor, count(*) AS links FROM links WHERE kind = 'link' AND internal AND anchor IS NOT NULL
GROUP BY target, anchor ORDER BY target, links DESC, anchor
