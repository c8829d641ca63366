-- Which links stand outside menus, headers, footers and side boxes?
SELECT source, target, anchor, place FROM links
WHERE kind = 'link' AND internal AND anchor IS NOT NULL AND (place IS NULL OR place = 'main') AND source != target
ORDER BY target, source
