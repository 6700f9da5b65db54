-- candidates that models find and the rules do not
SELECT r.key, t.aspect, t.opinion, t.polarity, group_concat(s.name, ' ') AS sources, round(max(p.confidence), 3) AS confidence, r.text
FROM triplets t JOIN reviews r ON r.id = t.review CROSS JOIN proposals p ON p.triplet = t.id CROSS JOIN sources s ON s.id = p.source
WHERE NOT EXISTS (SELECT 1 FROM triplet_sources q WHERE q.triplet = t.id AND q.name = 'rules')
GROUP BY t.id HAVING sum(s.kind = 'model') > 0 ORDER BY t.id
