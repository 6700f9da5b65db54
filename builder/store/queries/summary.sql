-- reviews with triplets and triplets by polarity, per source
SELECT s.name AS source, s.kind, count(DISTINCT t.review) AS reviews, count(*) AS triplets,
       sum(t.polarity = 'POS') AS POS, sum(t.polarity = 'NEG') AS NEG, sum(t.polarity = 'NEU') AS NEU
FROM sources s JOIN proposals p ON p.source = s.id JOIN triplets t ON t.id = p.triplet
GROUP BY s.id ORDER BY s.kind = 'model', s.name
