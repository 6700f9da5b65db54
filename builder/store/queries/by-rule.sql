-- candidates by the rule that made them, with the share the discriminator accepts
-- The share is that of all candidates; those without a verdict (abstained) are not accepted. Empty where there is no discriminator.
SELECT p.rule, count(*) AS triplets, sum(t.polarity = 'POS') AS POS, sum(t.polarity = 'NEG') AS NEG, sum(t.polarity = 'NEU') AS NEU,
       sum(v.label IS NULL) AS abstained,
       CASE WHEN EXISTS (SELECT 1 FROM verdicts JOIN sources ON sources.id = verdicts.source WHERE sources.name = 'discriminator')
            THEN round(100.0 * sum(v.label IS 'YY') / count(*), 1) END AS accepted_percent
FROM proposals p JOIN sources s ON s.id = p.source AND s.kind = 'rules' JOIN triplets t ON t.id = p.triplet
LEFT JOIN verdicts v ON v.triplet = t.id AND v.source = (SELECT id FROM sources WHERE name = 'discriminator')
WHERE p.rule IS NOT NULL GROUP BY p.rule ORDER BY triplets DESC
