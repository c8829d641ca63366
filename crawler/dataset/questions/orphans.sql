-- Which orphan pages did the last audit find?
SELECT url, rule, certainty, sentence FROM findings WHERE rule LIKE 'orphan%' AND NOT accepted ORDER BY certainty, url
