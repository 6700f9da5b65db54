-- triplets with one opinion
-- The core opinion word with its negator, as the review writes it.
-- :opinion for example 好吃
SELECT r.key, t.aspect, t.opinion, t.polarity, r.text FROM triplets t JOIN reviews r ON r.id = t.review WHERE t.opinion = :opinion ORDER BY t.id
