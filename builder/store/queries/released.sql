-- the triplets of the last release
-- What the view released_triplets holds: each triplet with its ids, confidence, verdict, rule and categories.
SELECT id, public_id, review, split, annotation, aspect, opinion, polarity, round(confidence, 3) AS confidence, verdict, rule,
       aspect_category, opinion_category, source, rating, text
FROM released_triplets ORDER BY id
