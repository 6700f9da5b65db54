-- A judge may abstain: label NULL. SQLite cannot alter a constraint, so the table is made anew.
DROP VIEW disagreements;
DROP VIEW explain;

CREATE TABLE new_verdicts (
  source INTEGER NOT NULL REFERENCES sources (id) ON DELETE CASCADE,
  triplet INTEGER NOT NULL REFERENCES triplets (id) ON DELETE CASCADE,
  label TEXT CHECK (label IN ('YY', 'YN', 'NX')),
  score REAL NOT NULL,
  PRIMARY KEY (source, triplet)
) STRICT, WITHOUT ROWID;
INSERT INTO new_verdicts SELECT source, triplet, label, score FROM verdicts;
DROP TABLE verdicts;
ALTER TABLE new_verdicts RENAME TO verdicts;
CREATE INDEX verdicts_triplet ON verdicts (triplet);

CREATE VIEW disagreements AS
  SELECT t.id, r.key AS review, t.aspect, t.opinion, t.polarity, s.name AS judge, v.label, v.score, r.text
  FROM verdicts v JOIN sources s ON s.id = v.source JOIN triplets t ON t.id = v.triplet JOIN reviews r ON r.id = t.review
  WHERE v.label <> 'YY';

CREATE VIEW explain AS
  SELECT p.triplet, s.name AS source, p.n, p.kind, p.detail FROM provenance p JOIN sources s ON s.id = p.source
  UNION ALL
  SELECT v.triplet, s.name, 1000, 'verdict', coalesce(v.label, 'abstains') || ' ' || printf('%.3f', v.score)
  FROM verdicts v JOIN sources s ON s.id = v.source
  UNION ALL
  SELECT t.triplet, t.variant, 2000 + t.round, 'training set', 'S_' || t.round FROM training_sets t;
