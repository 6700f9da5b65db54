-- the opinions used most in the release, with their polarities
-- POS, NEG and NEU count released triplets; candidates: triplets of all sources, released or not.
SELECT t.opinion, count(e.triplet) AS released, sum(e.triplet IS NOT NULL AND t.polarity = 'POS') AS POS,
       sum(e.triplet IS NOT NULL AND t.polarity = 'NEG') AS NEG, sum(e.triplet IS NOT NULL AND t.polarity = 'NEU') AS NEU, count(*) AS candidates
FROM triplets t LEFT JOIN released e ON e.triplet = t.id GROUP BY t.opinion ORDER BY released DESC, candidates DESC, t.opinion LIMIT 100
