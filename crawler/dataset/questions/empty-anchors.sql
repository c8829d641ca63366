-- Which links have no text, or one that says nothing?
SELECT source, target, anchor, place FROM links
WHERE kind = 'link' AND internal AND source != target
  AND (anchor = '' OR lower(anchor) IN ('here', 'click here', 'more', 'read more', 'link', 'hier', 'mehr', 'weiterlesen',
  'ici', 'en savoir plus', 'aquí', 'leer más')) ORDER BY target, source
