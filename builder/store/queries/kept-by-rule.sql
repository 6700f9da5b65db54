-- what became of each rule's triplets, by polarity: released, replaced by another in their place, or dropped
-- A replaced triplet has given way to one of the same place, mostly with other words. Before a release none is decided.
SELECT p.rule, t.polarity, count(*) AS found, count(e.triplet) AS released,
       sum(e.triplet IS NULL AND x.reason IN ('replaced', 'duplicate')) AS replaced,
       sum(e.triplet IS NULL AND x.reason NOT IN ('replaced', 'duplicate')) AS dropped,
       round(100.0 * sum(e.triplet IS NULL AND x.reason NOT IN ('replaced', 'duplicate')) / count(*), 1) AS dropped_percent
FROM proposals p JOIN sources s ON s.id = p.source AND s.kind = 'rules' JOIN triplets t ON t.id = p.triplet
LEFT JOIN released e ON e.triplet = t.id LEFT JOIN rejected x ON x.triplet = t.id
WHERE p.rule IS NOT NULL GROUP BY p.rule, t.polarity ORDER BY sum(count(*)) OVER (PARTITION BY p.rule) DESC, p.rule, t.polarity DESC
