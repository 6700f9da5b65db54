-- the last release by split and annotation: reviews, unverified negatives, triplets by polarity, who labelled
-- unverified_negatives: reviews in which nothing was found, and which nobody has checked.
WITH counted AS (SELECT split, annotation, count(*) AS triplets, sum(polarity = 'POS') AS POS, sum(polarity = 'NEG') AS NEG,
                        sum(polarity = 'NEU') AS NEU
                 FROM released e JOIN triplets t ON t.id = e.triplet GROUP BY split, annotation)
SELECT r.version, r.split, r.annotation, count(*) AS reviews, sum(r.unverified_negative) AS unverified_negatives,
       coalesce(c.triplets, 0) AS triplets, coalesce(c.POS, 0) AS POS, coalesce(c.NEG, 0) AS NEG, coalesce(c.NEU, 0) AS NEU,
       (SELECT s.labelled_by FROM sources s WHERE r.split = 'test' AND s.name = r.annotation) AS labelled_by
FROM released_reviews r LEFT JOIN counted c USING (split, annotation)
GROUP BY r.version, r.split, r.annotation ORDER BY r.split = 'test', r.split = 'valid', r.annotation
