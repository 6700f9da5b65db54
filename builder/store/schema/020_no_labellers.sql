-- No language model writes triplets of whole reviews any more: its source goes, and what it alone proposed.
-- Foreign keys are off in a migration, so each row is named.
CREATE TEMP TABLE labellers AS SELECT id FROM sources WHERE name LIKE 'llm:%';
CREATE TEMP TABLE theirs AS
  SELECT triplet FROM proposals GROUP BY triplet HAVING min(source IN (SELECT id FROM labellers));
DELETE FROM proposals WHERE source IN (SELECT id FROM labellers);
DELETE FROM labelled_reviews WHERE source IN (SELECT id FROM labellers);
DELETE FROM verdicts WHERE triplet IN (SELECT triplet FROM theirs);
DELETE FROM training_sets WHERE triplet IN (SELECT triplet FROM theirs);
DELETE FROM released WHERE triplet IN (SELECT triplet FROM theirs);
DELETE FROM rejected WHERE stage = 'label';
UPDATE rejected SET triplet = NULL WHERE triplet IN (SELECT triplet FROM theirs);
DELETE FROM triplets WHERE id IN (SELECT triplet FROM theirs);
DELETE FROM sources WHERE id IN (SELECT id FROM labellers);
DROP TABLE theirs;
DROP TABLE labellers;
DROP TABLE labeller_answers;
