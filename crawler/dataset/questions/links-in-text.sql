-- Which links to other pages of the site stand in the text of a page?
SELECT source, target, anchor, place FROM links
WHERE kind = 'link' AND internal AND anchor IS NOT NULL AND place = 'body' AND source != target
ORDER BY target, source
