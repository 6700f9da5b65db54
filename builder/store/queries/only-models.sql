-- triplets that models find and the rules do not
SELECT r.key, t.aspect, t.opinion, t.polarity, group_concat(s.name, ' ') AS sources, round(max(p.confidence), 3) AS confidence, r.text
FROM triplets t JOIN reviews r ON r.id = t.review JOIN proposals p ON p.triplet = t.id JOIN sources s ON s.id = p.source
GROUP BY t.id HAVING sum(s.kind = 'rules') = 0 AND sum(s.kind = 'model') > 0 ORDER BY t.id
