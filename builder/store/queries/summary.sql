-- reviews with triplets and triplets by polarity, per source
WITH
  totals AS (SELECT source, count(*) AS triplets, count(DISTINCT triplet >> 31) AS reviews FROM proposals GROUP BY source),
  -- The rarer polarities are counted, the common one is what remains. That is a third of the work.
  rarer AS (SELECT p.source, sum(t.polarity = 'NEG') AS neg, sum(t.polarity = 'NEU') AS neu
            FROM triplets t CROSS JOIN proposals p INDEXED BY proposals_triplet ON p.triplet = t.id
            WHERE t.polarity IN ('NEG', 'NEU') GROUP BY p.source)
SELECT s.name AS source, s.kind, n.reviews, n.triplets,
       n.triplets - coalesce(r.neg + r.neu, 0) AS POS, coalesce(r.neg, 0) AS NEG, coalesce(r.neu, 0) AS NEU
FROM sources s JOIN totals n ON n.source = s.id LEFT JOIN rarer r ON r.source = s.id
ORDER BY s.kind = 'model', s.name
