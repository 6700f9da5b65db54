-- triplets about one aspect
-- The aspect as the review writes it.
-- :aspect for example 服務
SELECT r.key, t.aspect, t.opinion, t.polarity, r.text FROM triplets t JOIN reviews r ON r.id = t.review WHERE t.aspect = :aspect ORDER BY t.id
