-- one aspect and opinion with two polarities from different sources
-- Polarity conflicts: the same characters of a review, felt differently.
WITH doubted AS (SELECT review, aspect, opinion FROM triplets INDEXED BY triplets_pair
                 GROUP BY review, aspect, opinion HAVING min(polarity) <> max(polarity))
SELECT r.key, t.aspect, t.opinion, group_concat(DISTINCT t.polarity) AS polarities, r.text
FROM doubted d JOIN triplets t ON t.review = d.review AND t.aspect = d.aspect AND t.opinion = d.opinion JOIN reviews r ON r.id = t.review
GROUP BY t.review, t.spans ->> '$.aspect', t.spans ->> '$.opinion' HAVING count(DISTINCT t.polarity) > 1 ORDER BY t.id
