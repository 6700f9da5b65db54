-- the opinions used most, with their polarities
SELECT opinion, count(*) AS triplets, sum(polarity = 'POS') AS POS, sum(polarity = 'NEG') AS NEG, sum(polarity = 'NEU') AS NEU
FROM triplets GROUP BY opinion ORDER BY triplets DESC, opinion LIMIT 100
