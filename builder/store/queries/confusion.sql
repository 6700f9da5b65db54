-- verdicts of the discriminator against people or gold (Figure 6 of the paper)
-- Candidates of pools by what people decided; without labels of pools, triplets of test by whether gold has them.
-- needs labels
WITH judged AS (
  SELECT f.label AS due, l.label AS verdict FROM final_labels f JOIN labels l ON l.candidate = f.candidate JOIN annotators a ON a.id = l.annotator AND a.kind = 'discriminator'
  UNION ALL
  SELECT CASE WHEN EXISTS (SELECT 1 FROM proposals g JOIN sources s ON s.id = g.source AND s.kind = 'gold' WHERE g.triplet = v.triplet) THEN 'in gold' ELSE 'not in gold' END, v.label
  FROM verdicts v JOIN triplets t ON t.id = v.triplet JOIN reviews r ON r.id = t.review
  WHERE r.split = 'test' AND EXISTS (SELECT 1 FROM sources WHERE kind = 'gold') AND NOT EXISTS (SELECT 1 FROM final_labels)
)
SELECT due, coalesce(verdict, 'abstains') AS verdict, count(*) AS candidates FROM judged GROUP BY 1, 2
