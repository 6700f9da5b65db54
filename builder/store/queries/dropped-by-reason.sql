-- what became of the candidates: released, or dropped for which reason
-- The rows of released and dropped candidates add up to the row found. Before a release all candidates are undecided.
WITH told AS (
  SELECT t.polarity, CASE WHEN e.triplet IS NOT NULL THEN 'released' WHEN x.triplet IS NOT NULL THEN 'dropped' ELSE 'undecided' END AS became,
         CASE WHEN e.triplet IS NULL THEN x.stage END AS stage, CASE WHEN e.triplet IS NULL THEN x.reason END AS reason
  FROM triplets t LEFT JOIN released e ON e.triplet = t.id LEFT JOIN rejected x ON x.triplet = t.id
  UNION ALL SELECT polarity, 'found', NULL, NULL FROM triplets)
SELECT became, stage, reason, count(*) AS triplets, sum(polarity = 'POS') AS POS, sum(polarity = 'NEG') AS NEG, sum(polarity = 'NEU') AS NEU
FROM told GROUP BY became, stage, reason ORDER BY became = 'found' DESC, became DESC, triplets DESC, reason
