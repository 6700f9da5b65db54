-- candidates of each source, and what the release holds of them
-- Each source proposes candidates; the same triplet may come from several. The row of kind release counts what was released of them all.
-- A model's source that only repeats the rules (signature rules) is left out.
WITH
  totals AS (SELECT source, count(*) AS triplets, count(DISTINCT triplet >> 31) AS reviews FROM proposals GROUP BY source),
  -- The rarer polarities are counted, the common one is what remains. That is a third of the work.
  rarer AS (SELECT p.source, sum(t.polarity = 'NEG') AS neg, sum(t.polarity = 'NEU') AS neu
            FROM triplets t CROSS JOIN proposals p INDEXED BY proposals_triplet ON p.triplet = t.id
            WHERE t.polarity IN ('NEG', 'NEU') GROUP BY p.source),
  out AS (SELECT e.version, count(*) AS triplets, count(DISTINCT e.triplet >> 31) AS reviews,
                 sum(t.polarity = 'NEG') AS neg, sum(t.polarity = 'NEU') AS neu
          FROM released e JOIN triplets t ON t.id = e.triplet GROUP BY e.version),
  lines AS (SELECT s.name AS source, s.kind, n.reviews, n.triplets, coalesce(r.neg, 0) AS neg, coalesce(r.neu, 0) AS neu
            FROM sources s JOIN totals n ON n.source = s.id LEFT JOIN rarer r ON r.source = s.id
            WHERE NOT (s.kind = 'model' AND s.signature = 'rules')
            UNION ALL SELECT 'v' || version, 'release', reviews, triplets, neg, neu FROM out)
SELECT source, kind, reviews, triplets, triplets - neg - neu AS POS, neg AS NEG, neu AS NEU
FROM lines ORDER BY kind = 'release', kind = 'model', source
