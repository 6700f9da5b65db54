-- What the rules found and the model gave other words is said by both: its row of E0 names the rule.
DROP VIEW triplet_sources;
CREATE VIEW triplet_sources AS
  SELECT p.triplet, iif(s.name = 'E0', (SELECT id FROM sources WHERE name = 'rules'), p.source) AS source,
         iif(s.name = 'E0', 'rules', s.name) AS name
  FROM proposals p JOIN sources s ON s.id = p.source WHERE s.name <> 'E0' OR p.rule IS NOT NULL
  UNION ALL
  SELECT v.triplet, v.source, s.name FROM verdicts v JOIN sources s ON s.id = v.source
  WHERE NOT EXISTS (SELECT 1 FROM sources e WHERE e.name = 'E0' AND e.signature = 'rules')
    AND (v.label = 'YY' OR NOT EXISTS (SELECT 1 FROM proposals p JOIN sources o ON o.id = p.source WHERE p.triplet = v.triplet AND o.name <> 'E0'));
