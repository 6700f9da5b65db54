-- what the discriminator rejects of each model's findings, round by round
-- YN: the polarity is doubted; NX: the pair is. rejected_percent: of those that were judged.
WITH
  judge AS (SELECT id FROM sources WHERE name = 'discriminator'),
  models AS (SELECT id, name, 1 << row_number() OVER (ORDER BY id) AS bit FROM sources WHERE kind = 'model'),
  found AS (SELECT p.triplet, sum(m.bit) AS mask FROM proposals p JOIN models m ON m.id = p.source GROUP BY p.triplet),
  judged AS (SELECT f.mask, v.label, count(*) AS number FROM found f CROSS JOIN verdicts v ON v.source = (SELECT id FROM judge) AND v.triplet = f.triplet
             GROUP BY f.mask, v.label)
SELECT m.name AS model, sum(number) AS judged, sum(number * (label IS 'YY')) AS YY, sum(number * (label IS 'YN')) AS YN,
       sum(number * (label IS 'NX')) AS NX, sum(number * (label IS NULL)) AS abstained, round(100.0 * sum(number * (label IS NOT NULL AND label <> 'YY')) / sum(number), 1) AS rejected_percent
FROM models m JOIN judged j ON j.mask & m.bit GROUP BY m.id ORDER BY m.name
