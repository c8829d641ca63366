-- How many findings of each rule did the last audit have?
SELECT rule, severity, certainty, count(*) AS findings FROM findings WHERE NOT accepted GROUP BY rule, severity, certainty ORDER BY findings DESC, rule
