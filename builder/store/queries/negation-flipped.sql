-- triplets whose polarity a negator turned
SELECT r.key, t.aspect, t.opinion, t.polarity, s.value ->> 1 AS negator, r.text
FROM proposals p JOIN triplets t ON t.id = p.triplet JOIN reviews r ON r.id = t.review, json_each(p.story) s
WHERE s.value ->> 0 = 'negator' ORDER BY t.id
