-- The database of a working directory. Offsets are code points into reviews.text, half-open, and text[start:end] is the surface.

CREATE TABLE reviews (
  id INTEGER PRIMARY KEY,
  key TEXT NOT NULL UNIQUE,
  text TEXT NOT NULL,
  source TEXT, place TEXT, rating REAL,
  file TEXT NOT NULL, row INTEGER NOT NULL,
  script TEXT NOT NULL, language TEXT NOT NULL,
  hash TEXT NOT NULL, norm_hash TEXT NOT NULL,
  duplicate_of INTEGER REFERENCES reviews (id),
  duplicate_kind TEXT CHECK (duplicate_kind IN ('exact', 'normalised')),
  split TEXT CHECK (split IN ('train', 'valid', 'test'))
) STRICT;
CREATE INDEX reviews_hash ON reviews (hash);
CREATE INDEX reviews_norm_hash ON reviews (norm_hash);

-- What was not used, by whom and why: nothing vanishes.
CREATE TABLE rejected (
  id INTEGER PRIMARY KEY,
  stage TEXT NOT NULL, item TEXT NOT NULL, reason TEXT NOT NULL, detail TEXT NOT NULL, raw TEXT NOT NULL
) STRICT;
CREATE INDEX rejected_stage ON rejected (stage, reason);

-- words: JSON [[start, end, pos, head, relation], …]; one row a review keeps millions of words small. The view tokens opens it.
CREATE TABLE annotations (
  review INTEGER PRIMARY KEY REFERENCES reviews (id) ON DELETE CASCADE,
  backend TEXT NOT NULL,
  words TEXT NOT NULL
) STRICT;

-- Whoever proposes or judges triplets: the rules, a model of variant X round n, a discriminator, people.
CREATE TABLE sources (
  id INTEGER PRIMARY KEY,
  name TEXT NOT NULL UNIQUE,
  kind TEXT NOT NULL CHECK (kind IN ('rules', 'model', 'discriminator', 'human')),
  signature TEXT NOT NULL
) STRICT;

-- id: review * 2^31 + 31 bits of the hash of spans and polarity, so that a triplet keeps its id over reruns and rows of a review lie
-- together. spans: JSON {"aspect": [[start, end], …], …} of aspect, aspect_full, owner, opinion, opinion_full; the view spans opens it.
CREATE TABLE triplets (
  id INTEGER PRIMARY KEY,
  review INTEGER NOT NULL REFERENCES reviews (id) ON DELETE CASCADE,
  aspect TEXT NOT NULL, aspect_full TEXT NOT NULL, owner TEXT,
  opinion TEXT NOT NULL, opinion_full TEXT NOT NULL,
  polarity TEXT NOT NULL CHECK (polarity IN ('POS', 'NEG', 'NEU')),
  valence REAL NOT NULL CHECK (valence BETWEEN 1 AND 10),
  spans TEXT NOT NULL
) STRICT;
CREATE INDEX triplets_review ON triplets (review);

-- Who proposed a triplet, how sure, by which rule first, and the story of each decision: JSON [[kind, detail], …].
CREATE TABLE proposals (
  source INTEGER NOT NULL REFERENCES sources (id) ON DELETE CASCADE,
  triplet INTEGER NOT NULL REFERENCES triplets (id) ON DELETE CASCADE,
  confidence REAL, rule TEXT, story TEXT NOT NULL,
  PRIMARY KEY (source, triplet)
) STRICT, WITHOUT ROWID;
CREATE INDEX proposals_triplet ON proposals (triplet);

CREATE TABLE verdicts (
  source INTEGER NOT NULL REFERENCES sources (id) ON DELETE CASCADE,
  triplet INTEGER NOT NULL REFERENCES triplets (id) ON DELETE CASCADE,
  label TEXT NOT NULL CHECK (label IN ('YY', 'YN', 'NX')),
  score REAL NOT NULL,
  PRIMARY KEY (source, triplet)
) STRICT, WITHOUT ROWID;
CREATE INDEX verdicts_triplet ON verdicts (triplet);

-- S_i of Algorithm 1: the training set of each variant and round.
CREATE TABLE training_sets (
  variant TEXT NOT NULL, round INTEGER NOT NULL,
  triplet INTEGER NOT NULL REFERENCES triplets (id) ON DELETE CASCADE,
  PRIMARY KEY (variant, round, triplet)
) STRICT, WITHOUT ROWID;

CREATE TABLE rounds (
  variant TEXT NOT NULL, round INTEGER NOT NULL, key TEXT NOT NULL, model TEXT NOT NULL,
  reviews INTEGER NOT NULL, triplets INTEGER NOT NULL, predicted INTEGER NOT NULL, accepted INTEGER NOT NULL, added INTEGER NOT NULL,
  seconds REAL NOT NULL,
  PRIMARY KEY (variant, round)
) STRICT;

CREATE TABLE metrics (
  system TEXT NOT NULL, split TEXT NOT NULL, metric TEXT NOT NULL, value REAL NOT NULL, signature TEXT NOT NULL,
  PRIMARY KEY (system, split, metric)
) STRICT, WITHOUT ROWID;

CREATE TABLE runs (
  stage TEXT PRIMARY KEY, key TEXT NOT NULL, counts TEXT NOT NULL, seconds REAL NOT NULL, finished TEXT NOT NULL
) STRICT;

CREATE TABLE settings (name TEXT PRIMARY KEY, value TEXT NOT NULL) STRICT;

CREATE TABLE releases (version TEXT PRIMARY KEY, path TEXT NOT NULL, digest TEXT NOT NULL) STRICT;

CREATE VIEW tokens AS
  SELECT a.review, w.key AS n, w.value ->> 0 AS start, w.value ->> 1 AS "end",
         substr(r.text, (w.value ->> 0) + 1, (w.value ->> 1) - (w.value ->> 0)) AS word,
         w.value ->> 2 AS pos, w.value ->> 3 AS head, w.value ->> 4 AS relation
  FROM annotations a JOIN reviews r ON r.id = a.review, json_each(a.words) w;

CREATE VIEW spans AS
  SELECT t.id AS triplet, e.key AS element, p.key AS n, p.value ->> 0 AS start, p.value ->> 1 AS "end"
  FROM triplets t, json_each(t.spans) e, json_each(e.value) p;

CREATE VIEW provenance AS
  SELECT p.triplet, p.source, e.key AS n, e.value ->> 0 AS kind, e.value ->> 1 AS detail
  FROM proposals p, json_each(p.story) e;

CREATE VIEW current_triplets AS
  SELECT t.id, r.key AS review, t.aspect, t.opinion, t.polarity, t.valence, t.aspect_full, t.opinion_full, t.owner, r.split,
         (SELECT group_concat(s.name, ' ') FROM proposals p JOIN sources s ON s.id = p.source WHERE p.triplet = t.id) AS sources, r.text
  FROM triplets t JOIN reviews r ON r.id = t.review;

CREATE VIEW growth AS
  SELECT variant, round, reviews, triplets, predicted, accepted, added, round(100.0 * accepted / max(predicted, 1), 1) AS accepted_percent
  FROM rounds ORDER BY variant, round;

CREATE VIEW disagreements AS
  SELECT t.id, r.key AS review, t.aspect, t.opinion, t.polarity, s.name AS judge, v.label, v.score, r.text
  FROM verdicts v JOIN sources s ON s.id = v.source JOIN triplets t ON t.id = v.triplet JOIN reviews r ON r.id = t.review
  WHERE v.label <> 'YY';

CREATE VIEW explain AS
  SELECT p.triplet, s.name AS source, p.n, p.kind, p.detail FROM provenance p JOIN sources s ON s.id = p.source
  UNION ALL
  SELECT v.triplet, s.name, 1000, 'verdict', v.label || ' ' || printf('%.3f', v.score) FROM verdicts v JOIN sources s ON s.id = v.source
  UNION ALL
  SELECT t.triplet, t.variant, 2000 + t.round, 'training set', 'S_' || t.round FROM training_sets t;
