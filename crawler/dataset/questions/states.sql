-- How many URLs are in each state?
SELECT state, count(*) AS urls, sum(listed) AS listed FROM pages GROUP BY state ORDER BY urls DESC
