-- the triplets of the last release
-- What the view released_triplets holds: each triplet with its ids, confidence, verdict, rule, sources and categories.
SELECT id, public_id, review_key, split, annotation, aspect, opinion, polarity, round(confidence, 3) AS confidence, verdict, rule,
       aspect_category, opinion_category, sources, source, place, rating, date, text
FROM released_triplets ORDER BY id
