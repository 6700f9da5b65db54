-- Layers of the test split: gold that people labelled, and silver that a language model labelled. SQLite cannot alter a constraint, so
-- the table of sources is made anew; foreign keys are off while the schema is brought up to date, so that what refers to it stays.
CREATE TABLE old_sources AS SELECT * FROM sources;
DROP TABLE sources;

-- Whoever proposes or judges triplets: the rules, a model of variant X round n, a discriminator, people, a language model.
-- labelled_by: who labelled the layer gold or silver, in words.
CREATE TABLE sources (
  id INTEGER PRIMARY KEY,
  name TEXT NOT NULL UNIQUE,
  kind TEXT NOT NULL CHECK (kind IN ('rules', 'model', 'discriminator', 'human', 'llm')),
  signature TEXT NOT NULL,
  labelled_by TEXT
) STRICT;
INSERT INTO sources (id, name, kind, signature) SELECT id, name, kind, signature FROM old_sources;
DROP TABLE old_sources;

-- The reviews of a layer, those without a triplet too. Its triplets are the proposals of its source.
CREATE TABLE labelled_reviews (
  source INTEGER NOT NULL REFERENCES sources (id) ON DELETE CASCADE,
  review INTEGER NOT NULL REFERENCES reviews (id) ON DELETE CASCADE,
  PRIMARY KEY (source, review)
) STRICT, WITHOUT ROWID;
CREATE INDEX labelled_reviews_review ON labelled_reviews (review);
