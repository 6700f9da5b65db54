-- Gold need not be by people: its source is of kind gold, and annotators says who labelled it, where somebody says so. SQLite cannot alter
-- a constraint, so the table is made anew, as in 012_layers.sql.
CREATE TABLE old_sources AS SELECT * FROM sources;
DROP TABLE sources;

-- Whoever proposes or judges triplets: the rules, a model of variant X round n, a discriminator, gold, a language model.
-- labelled_by: who labelled the layer gold or silver, in words. annotators: `people`, `language model` or `mixed`; NULL where nobody says.
CREATE TABLE sources (
  id INTEGER PRIMARY KEY,
  name TEXT NOT NULL UNIQUE,
  kind TEXT NOT NULL CHECK (kind IN ('rules', 'model', 'discriminator', 'gold', 'llm')),
  signature TEXT NOT NULL,
  labelled_by TEXT,
  annotators TEXT CHECK (annotators IN ('people', 'language model', 'mixed'))
) STRICT;
INSERT INTO sources (id, name, kind, signature, labelled_by)
  SELECT id, name, CASE kind WHEN 'human' THEN 'gold' ELSE kind END, signature,
         CASE WHEN kind = 'human' AND labelled_by = 'people' THEN 'not stated' ELSE labelled_by END FROM old_sources;
UPDATE sources SET annotators = 'people' WHERE kind = 'gold' AND labelled_by LIKE 'people, pool %';
UPDATE sources SET annotators = 'language model' WHERE name = 'silver';
DROP TABLE old_sources;
