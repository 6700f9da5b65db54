-- the aspects named most, with their polarities
SELECT aspect, count(*) AS triplets, sum(polarity = 'POS') AS POS, sum(polarity = 'NEG') AS NEG, sum(polarity = 'NEU') AS NEU
FROM triplets GROUP BY aspect ORDER BY triplets DESC, aspect LIMIT 100
