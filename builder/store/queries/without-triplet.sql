-- reviews in which no source finds a candidate
SELECT r.key, r.split, r.text FROM reviews r
WHERE r.duplicate_of IS NULL AND NOT EXISTS (SELECT 1 FROM triplets t WHERE t.review = r.id) ORDER BY r.id
