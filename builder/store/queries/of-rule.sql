-- candidates that one rule made
-- Names of rules: the query by-rule.
-- :rule for example subject
SELECT r.key, t.aspect, t.opinion, t.polarity, r.text
FROM proposals p JOIN sources s ON s.id = p.source AND s.kind = 'rules' CROSS JOIN triplets t ON t.id = p.triplet CROSS JOIN reviews r ON r.id = t.review WHERE p.rule = :rule ORDER BY p.triplet
