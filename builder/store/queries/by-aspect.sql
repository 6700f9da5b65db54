-- candidates about one aspect
-- The aspect as the review writes it. released: the release that holds the triplet; empty for one that was left out.
-- :aspect for example 服務
SELECT r.key, t.aspect, t.opinion, t.polarity, e.version AS released, r.text
FROM triplets t JOIN reviews r ON r.id = t.review LEFT JOIN released e ON e.triplet = t.id WHERE t.aspect = :aspect ORDER BY t.id
