-- triplets of the rules that no final model finds
SELECT r.key, t.aspect, t.opinion, t.polarity, p.rule, r.text
FROM proposals p JOIN sources s ON s.id = p.source AND s.name = 'rules' JOIN triplets t ON t.id = p.triplet JOIN reviews r ON r.id = t.review
WHERE (SELECT count(*) FROM proposals q WHERE q.triplet = t.id) = 1 ORDER BY t.id
