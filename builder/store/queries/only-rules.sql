-- candidates of the rules that no final model finds
SELECT r.key, t.aspect, t.opinion, t.polarity, p.rule, r.text
FROM proposals p CROSS JOIN triplets t ON t.id = p.triplet CROSS JOIN reviews r ON r.id = t.review
WHERE p.source = (SELECT id FROM sources WHERE name = 'rules') AND (SELECT count(*) FROM proposals q WHERE q.triplet = t.id) = 1 ORDER BY p.triplet
