-- How many URLs of each status are in each section?
SELECT section, status, count(*) AS urls FROM pages GROUP BY section, status ORDER BY section, status
