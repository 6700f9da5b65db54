-- released triplets by the month in which their review was written
-- needs dates
SELECT substr(date, 1, 7) AS month, count(DISTINCT review) AS reviews, count(*) AS triplets, sum(polarity = 'POS') AS POS,
       sum(polarity = 'NEG') AS NEG, sum(polarity = 'NEU') AS NEU
FROM released_triplets WHERE date IS NOT NULL GROUP BY 1 ORDER BY 1
