-- candidates whose opinion a negator belongs to
-- The negator stands in front of the opinion and turns its polarity.
SELECT r.key, t.aspect, t.opinion, t.polarity, s.value ->> 1 AS negator, r.text
FROM proposals p INDEXED BY proposals_negated CROSS JOIN triplets t ON t.id = p.triplet CROSS JOIN reviews r ON r.id = t.review
CROSS JOIN json_each(p.story) s
WHERE p.story LIKE '%["negator",%' AND s.value ->> 0 = 'negator' ORDER BY p.triplet
