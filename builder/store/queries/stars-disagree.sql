-- stars against triplets: reviews of one or two stars that are all praise, and of five that are all blame
-- Worth a look in an audit: more is missing or wrong in them than elsewhere. Stars decide nothing in a build.
-- needs stars
SELECT r.key, r.rating, group_concat(t.aspect || '/' || t.opinion || '/' || t.polarity, ' ') AS triplets, r.text
FROM sources s JOIN proposals p ON p.source = s.id JOIN triplets t ON t.id = p.triplet JOIN reviews r ON r.id = t.review
WHERE s.kind = 'rules' AND r.duplicate_of IS NULL AND (r.rating <= 2 OR r.rating >= 5) AND t.polarity <> 'NEU'
GROUP BY r.id
HAVING min(t.polarity) = max(t.polarity) AND min(t.polarity) = CASE WHEN r.rating >= 5 THEN 'NEG' ELSE 'POS' END
ORDER BY r.rating, r.id
