-- candidates with one opinion
-- The core opinion word with its negator, as the review writes it. released: the release that holds the triplet; empty for one that was left out.
-- :opinion for example 好吃
SELECT r.key, t.aspect, t.opinion, t.polarity, e.version AS released, r.text
FROM triplets t JOIN reviews r ON r.id = t.review LEFT JOIN released e ON e.triplet = t.id WHERE t.opinion = :opinion ORDER BY t.id
