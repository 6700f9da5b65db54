-- one aspect and opinion with two polarities from different sources
SELECT r.key, t.aspect, t.opinion, group_concat(DISTINCT t.polarity) AS polarities, r.text
FROM triplets t JOIN reviews r ON r.id = t.review
GROUP BY t.review, t.spans ->> '$.aspect', t.spans ->> '$.opinion' HAVING count(DISTINCT t.polarity) > 1 ORDER BY t.id
