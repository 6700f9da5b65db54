-- candidates by the rule that made them, with the share the discriminator accepts
SELECT p.rule, count(*) AS triplets, sum(t.polarity = 'POS') AS POS, sum(t.polarity = 'NEG') AS NEG, sum(t.polarity = 'NEU') AS NEU,
       round(100.0 * avg(v.label = 'YY'), 1) AS accepted_percent
FROM proposals p JOIN triplets t ON t.id = p.triplet
LEFT JOIN verdicts v ON v.triplet = t.id AND v.source = (SELECT id FROM sources WHERE name = 'discriminator')
WHERE p.rule IS NOT NULL GROUP BY p.rule ORDER BY triplets DESC
