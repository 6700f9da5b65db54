-- weak labels against gold
-- found says whether gold, weak sources or both have the triplet; a difference in polarity is two rows.
-- needs gold
WITH labelled AS (SELECT DISTINCT t.review FROM proposals g JOIN sources s ON s.id = g.source AND s.kind = 'gold' JOIN triplets t ON t.id = g.triplet)
SELECT r.key, t.aspect, t.opinion, t.polarity,
       CASE WHEN sum(s.kind = 'gold') = 0 THEN 'weak only' WHEN sum(s.kind <> 'gold') = 0 THEN 'gold only' ELSE 'both' END AS found,
       group_concat(s.name, ' ') AS sources, r.text
FROM labelled l CROSS JOIN triplets t ON t.review = l.review JOIN proposals p ON p.triplet = t.id JOIN sources s ON s.id = p.source JOIN reviews r ON r.id = t.review
GROUP BY t.id ORDER BY t.id
