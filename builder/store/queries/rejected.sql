-- what was not used, by stage and reason
SELECT stage, reason, count(*) AS number, min(item) AS example FROM rejected GROUP BY stage, reason ORDER BY number DESC
