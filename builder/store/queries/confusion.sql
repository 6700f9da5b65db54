-- verdicts of the discriminator against gold (Figure 6 of the paper): is a candidate in gold or not
-- needs gold
SELECT coalesce(v.label, 'abstains') AS label, sum(EXISTS (SELECT 1 FROM proposals g JOIN sources s ON s.id = g.source AND s.kind = 'gold' WHERE g.triplet = v.triplet)) AS in_gold, count(*) AS judged
FROM verdicts v JOIN triplets t ON t.id = v.triplet JOIN reviews r ON r.id = t.review
WHERE r.split = 'test' AND EXISTS (SELECT 1 FROM sources WHERE kind = 'gold') GROUP BY 1
