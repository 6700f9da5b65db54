-- The tables of version 0.5.0, the oldest that is brought up to date. descriptions.toml says what each is for.

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
, public_id TEXT) STRICT;

CREATE INDEX reviews_hash ON reviews (hash);

CREATE INDEX reviews_norm_hash ON reviews (norm_hash);

CREATE TABLE rejected (
  id INTEGER PRIMARY KEY,
  stage TEXT NOT NULL, item TEXT NOT NULL, reason TEXT NOT NULL, detail TEXT NOT NULL, raw TEXT NOT NULL
, review INTEGER REFERENCES reviews (id) ON DELETE CASCADE, triplet INTEGER REFERENCES triplets (id) ON DELETE SET NULL, judge TEXT, score REAL, score_limit REAL) STRICT;

CREATE INDEX rejected_stage ON rejected (stage, reason);

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

CREATE TABLE proposals (
  source INTEGER NOT NULL REFERENCES sources (id) ON DELETE CASCADE,
  triplet INTEGER NOT NULL REFERENCES triplets (id) ON DELETE CASCADE,
  confidence REAL, rule TEXT, story TEXT NOT NULL, margin REAL, aspect_category TEXT, aspect_entry TEXT, opinion_category TEXT, opinion_entry TEXT,
  PRIMARY KEY (source, triplet)
) STRICT, WITHOUT ROWID;

CREATE INDEX proposals_triplet ON proposals (triplet);

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
  system TEXT NOT NULL, split TEXT NOT NULL, metric TEXT NOT NULL, value REAL NOT NULL, signature TEXT NOT NULL, low REAL, high REAL,
  PRIMARY KEY (system, split, metric)
) STRICT, WITHOUT ROWID;

CREATE TABLE runs (
  stage TEXT PRIMARY KEY, key TEXT NOT NULL, counts TEXT NOT NULL, seconds REAL NOT NULL, finished TEXT NOT NULL
) STRICT;

CREATE TABLE settings (name TEXT PRIMARY KEY, value TEXT NOT NULL) STRICT;

CREATE TABLE releases (version TEXT PRIMARY KEY, path TEXT NOT NULL, digest TEXT NOT NULL) STRICT;

CREATE VIEW spans AS
  SELECT t.id AS triplet, e.key AS element, p.key AS n, p.value ->> 0 AS start, p.value ->> 1 AS "end"
  FROM triplets t, json_each(t.spans) e, json_each(e.value) p;

CREATE VIEW provenance AS
  SELECT p.triplet, p.source, e.key AS n, e.value ->> 0 AS kind, e.value ->> 1 AS detail
  FROM proposals p, json_each(p.story) e;

CREATE VIEW growth AS
  SELECT variant, round, reviews, triplets, predicted, accepted, added, round(100.0 * accepted / max(predicted, 1), 1) AS accepted_percent
  FROM rounds ORDER BY variant, round;

CREATE TABLE backends (
  id INTEGER PRIMARY KEY,
  name TEXT NOT NULL UNIQUE,
  signature TEXT NOT NULL,
  key TEXT NOT NULL,
  current INTEGER NOT NULL CHECK (current IN (0, 1))
) STRICT;

CREATE UNIQUE INDEX backends_current ON backends (current) WHERE current = 1;

CREATE TABLE annotations (
  review INTEGER NOT NULL REFERENCES reviews (id) ON DELETE CASCADE,
  backend INTEGER NOT NULL REFERENCES backends (id) ON DELETE CASCADE,
  words TEXT NOT NULL,
  UNIQUE (review, backend)
) STRICT;

CREATE INDEX annotations_backend ON annotations (backend, review);

CREATE VIEW tokens AS
  SELECT a.review, b.name AS backend, b.current, w.key AS n, w.value ->> 0 AS start, w.value ->> 1 AS "end",
         substr(r.text, (w.value ->> 0) + 1, (w.value ->> 1) - (w.value ->> 0)) AS word,
         w.value ->> 2 AS pos, w.value ->> 3 AS head, w.value ->> 4 AS relation
  FROM annotations a JOIN backends b ON b.id = a.backend JOIN reviews r ON r.id = a.review, json_each(a.words) w;

CREATE TABLE pools (
  id TEXT PRIMARY KEY,
  seed INTEGER NOT NULL, split TEXT NOT NULL, config TEXT NOT NULL, digest TEXT NOT NULL UNIQUE, created TEXT NOT NULL
) STRICT;

CREATE TABLE pool_reviews (
  id INTEGER PRIMARY KEY,
  pool TEXT NOT NULL REFERENCES pools (id) ON DELETE CASCADE,
  n INTEGER NOT NULL, key TEXT NOT NULL, text TEXT NOT NULL, rating REAL, stratum TEXT NOT NULL,
  UNIQUE (pool, n), UNIQUE (pool, key)
) STRICT;

CREATE TABLE candidates (
  id INTEGER PRIMARY KEY,
  review INTEGER NOT NULL REFERENCES pool_reviews (id) ON DELETE CASCADE,
  n INTEGER, name TEXT NOT NULL,
  aspect TEXT NOT NULL, aspect_full TEXT NOT NULL, owner TEXT,
  opinion TEXT NOT NULL, opinion_full TEXT NOT NULL,
  polarity TEXT NOT NULL CHECK (polarity IN ('POS', 'NEG', 'NEU')),
  valence REAL NOT NULL, spans TEXT NOT NULL,
  UNIQUE (review, name)
) STRICT;

CREATE TABLE candidate_sources (
  candidate INTEGER NOT NULL REFERENCES candidates (id) ON DELETE CASCADE,
  source TEXT NOT NULL, confidence REAL,
  PRIMARY KEY (candidate, source)
) STRICT, WITHOUT ROWID;

CREATE TABLE annotators (
  id INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE, kind TEXT NOT NULL CHECK (kind IN ('human', 'llm', 'discriminator'))
) STRICT;

CREATE TABLE labels (
  candidate INTEGER NOT NULL REFERENCES candidates (id) ON DELETE CASCADE,
  annotator INTEGER NOT NULL REFERENCES annotators (id) ON DELETE CASCADE,
  label TEXT CHECK (label IN ('YY', 'YN', 'NX')),
  polarity TEXT CHECK (polarity IN ('POS', 'NEG', 'NEU')), spans TEXT,
  note TEXT NOT NULL DEFAULT '', at TEXT NOT NULL, tool TEXT NOT NULL,
  PRIMARY KEY (candidate, annotator),
  CHECK (label IS NOT NULL OR (polarity IS NULL AND spans IS NULL)),
  CHECK (label <> 'YY' OR polarity IS NULL)
) STRICT, WITHOUT ROWID;

CREATE INDEX labels_annotator ON labels (annotator);

CREATE TABLE checked_reviews (
  review INTEGER NOT NULL REFERENCES pool_reviews (id) ON DELETE CASCADE,
  annotator INTEGER NOT NULL REFERENCES annotators (id) ON DELETE CASCADE,
  at TEXT NOT NULL, tool TEXT NOT NULL,
  PRIMARY KEY (review, annotator)
) STRICT, WITHOUT ROWID;

CREATE TABLE adjudications (
  candidate INTEGER PRIMARY KEY REFERENCES candidates (id) ON DELETE CASCADE,
  label TEXT NOT NULL CHECK (label IN ('YY', 'YN', 'NX')),
  polarity TEXT CHECK (polarity IN ('POS', 'NEG', 'NEU')), spans TEXT,
  annotator INTEGER NOT NULL REFERENCES annotators (id),
  note TEXT NOT NULL DEFAULT '', at TEXT NOT NULL, tool TEXT NOT NULL,
  CHECK (label <> 'YY' OR polarity IS NULL)
) STRICT;

CREATE TABLE judge_answers (
  payload_hash TEXT PRIMARY KEY,
  model TEXT NOT NULL, endpoint TEXT NOT NULL, payload TEXT NOT NULL, raw TEXT NOT NULL,
  asked INTEGER NOT NULL, parsed INTEGER NOT NULL,
  prompt_tokens INTEGER NOT NULL, completion_tokens INTEGER NOT NULL, at TEXT NOT NULL
) STRICT;

CREATE VIEW final_labels AS
  WITH answers AS (
    SELECT l.candidate, l.label, l.polarity, l.spans, count(*) AS votes
    FROM labels l JOIN annotators a ON a.id = l.annotator
    WHERE a.kind = 'human' AND l.label IS NOT NULL
    GROUP BY l.candidate, l.label, l.polarity, l.spans
  ), voted AS (
    SELECT *, sum(votes) OVER (PARTITION BY candidate) AS total FROM answers
  )
  SELECT candidate, label, polarity, spans, 'adjudicated' AS how FROM adjudications
  UNION ALL
  SELECT candidate, label, polarity, spans, CASE WHEN votes < total THEN 'majority' WHEN total = 1 THEN 'single' ELSE 'agreed' END
  FROM voted WHERE 2 * votes > total AND candidate NOT IN (SELECT candidate FROM adjudications);

CREATE TABLE report_cells (
  "table" TEXT NOT NULL, line INTEGER NOT NULL, "column" TEXT NOT NULL, value ANY,
  PRIMARY KEY ("table", line, "column")
) STRICT, WITHOUT ROWID;

CREATE VIRTUAL TABLE search USING fts5 (pairs, content='');

CREATE TABLE lexicon_use (
  list TEXT NOT NULL CHECK (list IN ('aspects', 'opinions')),
  word TEXT NOT NULL, category TEXT NOT NULL, place TEXT NOT NULL, triplets INTEGER NOT NULL,
  PRIMARY KEY (list, word)
) STRICT, WITHOUT ROWID;

CREATE INDEX triplets_aspect ON triplets (aspect, polarity);

CREATE INDEX triplets_opinion ON triplets (opinion, polarity);

CREATE INDEX triplets_pair ON triplets (review, aspect, opinion, polarity);

CREATE INDEX proposals_rule ON proposals (rule, triplet) WHERE rule IS NOT NULL;

CREATE INDEX proposals_negated ON proposals (triplet) WHERE story LIKE '%["negator",%';

CREATE INDEX reviews_split ON reviews (split) WHERE duplicate_of IS NULL;

CREATE INDEX training_sets_triplet ON training_sets (triplet);

CREATE INDEX rejected_item ON rejected (item);

CREATE INDEX proposals_review ON proposals (source, triplet >> 31);

CREATE INDEX triplets_polarity ON triplets (polarity);

CREATE INDEX reviews_norm_split ON reviews (norm_hash, split) WHERE split IS NOT NULL;

CREATE INDEX reviews_duplicate ON reviews (duplicate_of) WHERE duplicate_of IS NOT NULL;

CREATE TABLE "verdicts" (
  source INTEGER NOT NULL REFERENCES sources (id) ON DELETE CASCADE,
  triplet INTEGER NOT NULL REFERENCES triplets (id) ON DELETE CASCADE,
  label TEXT CHECK (label IN ('YY', 'YN', 'NX')),
  score REAL NOT NULL, confidence REAL,
  PRIMARY KEY (source, triplet)
) STRICT, WITHOUT ROWID;

CREATE INDEX verdicts_triplet ON verdicts (triplet);

CREATE TABLE splits (
  norm_hash TEXT PRIMARY KEY,
  split TEXT NOT NULL CHECK (split IN ('train', 'valid', 'test'))
) STRICT, WITHOUT ROWID;

CREATE TABLE near_duplicates (
  review INTEGER PRIMARY KEY REFERENCES reviews (id) ON DELETE CASCADE,
  cluster INTEGER NOT NULL REFERENCES reviews (id) ON DELETE CASCADE
) STRICT;

CREATE INDEX near_duplicates_cluster ON near_duplicates (cluster);

CREATE TABLE released (
  triplet INTEGER PRIMARY KEY REFERENCES triplets (id) ON DELETE CASCADE,
  version TEXT NOT NULL,
  split TEXT NOT NULL CHECK (split IN ('train', 'valid', 'test')),
  annotation TEXT NOT NULL
, public_id TEXT, confidence REAL, verdict TEXT, rule TEXT, aspect_category TEXT, opinion_category TEXT, sources TEXT) STRICT;

CREATE INDEX reviews_public_id ON reviews (public_id) WHERE public_id IS NOT NULL;

CREATE INDEX rejected_review ON rejected (review) WHERE review IS NOT NULL;

CREATE INDEX rejected_triplet ON rejected (triplet) WHERE triplet IS NOT NULL;

CREATE INDEX released_public_id ON released (public_id) WHERE public_id IS NOT NULL;

CREATE TABLE released_reviews (
  review INTEGER PRIMARY KEY REFERENCES reviews (id) ON DELETE CASCADE,
  version TEXT NOT NULL,
  split TEXT NOT NULL CHECK (split IN ('train', 'valid', 'test')),
  annotation TEXT NOT NULL,
  unverified_negative INTEGER NOT NULL CHECK (unverified_negative IN (0, 1))
) STRICT;

CREATE TABLE review_groups (
  review INTEGER PRIMARY KEY REFERENCES reviews (id) ON DELETE CASCADE,
  name TEXT NOT NULL
) STRICT;

CREATE INDEX review_groups_name ON review_groups (name);

CREATE VIRTUAL TABLE reviews_fts USING fts5 (text, content="reviews", content_rowid="id", detail=none);

CREATE TABLE descriptions (
  name TEXT NOT NULL,
  "column" TEXT NOT NULL,
  meaning TEXT NOT NULL,
  PRIMARY KEY (name, "column")
) STRICT, WITHOUT ROWID;

CREATE VIEW reviews_wide AS
  SELECT r.id, r.key, r.public_id, r.text, r.source, r.place, r.rating, r.split, e.version AS released, e.annotation, e.unverified_negative,
         count(x.triplet) AS triplets,
         count(*) FILTER (WHERE t.polarity = 'POS') AS positive,
         count(*) FILTER (WHERE t.polarity = 'NEG') AS negative,
         count(*) FILTER (WHERE t.polarity = 'NEU') AS neutral,
         group_concat(t.aspect || '/' || t.opinion || '/' || t.polarity, ' ') AS summary,
         min(x.confidence) AS least_confidence
  FROM reviews r
       LEFT JOIN released_reviews e ON e.review = r.id
       LEFT JOIN released x ON x.triplet BETWEEN r.id << 31 AND (r.id << 31) + 2147483647
       LEFT JOIN triplets t ON t.id = x.triplet
  WHERE r.duplicate_of IS NULL
  GROUP BY r.id;

CREATE TABLE labelled_reviews (
  source INTEGER NOT NULL REFERENCES sources (id) ON DELETE CASCADE,
  review INTEGER NOT NULL REFERENCES reviews (id) ON DELETE CASCADE,
  PRIMARY KEY (source, review)
) STRICT, WITHOUT ROWID;

CREATE INDEX labelled_reviews_review ON labelled_reviews (review);

CREATE TABLE review_dates (
  review INTEGER PRIMARY KEY REFERENCES reviews (id) ON DELETE CASCADE,
  date TEXT NOT NULL
) STRICT;

CREATE TABLE labeller_answers (
  source TEXT NOT NULL, review_key TEXT NOT NULL, text TEXT NOT NULL, answer TEXT NOT NULL, prompt TEXT NOT NULL,
  PRIMARY KEY (source, review_key)
) STRICT, WITHOUT ROWID;

CREATE VIEW triplet_sources AS
  SELECT p.triplet, p.source, s.name FROM proposals p JOIN sources s ON s.id = p.source WHERE s.name <> 'E0'
  UNION ALL
  SELECT v.triplet, v.source, s.name FROM verdicts v JOIN sources s ON s.id = v.source
  WHERE NOT EXISTS (SELECT 1 FROM sources e WHERE e.name = 'E0' AND e.signature = 'rules')
    AND (v.label = 'YY' OR NOT EXISTS (SELECT 1 FROM proposals p JOIN sources o ON o.id = p.source WHERE p.triplet = v.triplet AND o.name <> 'E0'));

CREATE VIEW released_triplets AS
  SELECT e.triplet AS id, e.public_id, r.id AS review, r.key AS review_key, r.public_id AS review_public_id, e.version, e.split, e.annotation,
         t.aspect, t.opinion, t.polarity, t.valence, e.confidence, e.verdict, e.rule, e.aspect_category, e.opinion_category,
         t.aspect_full, t.opinion_full, t.owner, e.sources, r.source, r.place, r.rating, d.date, r.text
  FROM released e JOIN triplets t ON t.id = e.triplet JOIN reviews r ON r.id = t.review LEFT JOIN review_dates d ON d.review = r.id;

CREATE VIEW current_triplets AS
  SELECT id, review, review_key, aspect, opinion, polarity, valence, aspect_full, opinion_full, owner, split, sources, text
  FROM released_triplets;

CREATE VIEW dropped_triplets AS
  SELECT t.id, r.id AS review, r.key AS review_key, x.stage, x.reason, x.judge, x.score, x.score_limit, x.detail,
         t.aspect, t.opinion, t.polarity, t.valence,
         (SELECT p.rule FROM proposals p WHERE p.triplet = t.id AND p.rule IS NOT NULL ORDER BY p.source DESC LIMIT 1) AS rule,
         (SELECT group_concat(name, ' ') FROM (SELECT s.name FROM triplet_sources s WHERE s.triplet = t.id ORDER BY s.source)) AS sources,
         r.split, r.source, r.place, r.rating, d.date, r.text
  FROM rejected x JOIN triplets t ON t.id = x.triplet JOIN reviews r ON r.id = t.review LEFT JOIN review_dates d ON d.review = r.id;

CREATE VIEW candidate_triplets AS
  SELECT t.id, r.id AS review, r.key AS review_key, t.aspect, t.opinion, t.polarity, t.valence, t.aspect_full, t.opinion_full, t.owner, r.split,
         (SELECT group_concat(name, ' ') FROM (SELECT s.name FROM triplet_sources s WHERE s.triplet = t.id ORDER BY s.source)) AS sources,
         e.version AS released, (SELECT x.reason FROM rejected x WHERE x.triplet = t.id) AS dropped, r.text
  FROM triplets t JOIN reviews r ON r.id = t.review LEFT JOIN released e ON e.triplet = t.id;

CREATE VIEW disagreements AS
  SELECT t.id, r.id AS review, r.key AS review_key, t.aspect, t.opinion, t.polarity, s.name AS judge, v.label, v.score, r.text
  FROM verdicts v JOIN sources s ON s.id = v.source JOIN triplets t ON t.id = v.triplet JOIN reviews r ON r.id = t.review
  WHERE v.label <> 'YY';

CREATE VIEW pooled AS
  SELECT r.pool, r.n AS review_n, r.id AS review, r.key AS review_key, c.id AS candidate, c.n, c.aspect, c.opinion, c.polarity,
         (SELECT group_concat(s.source, ' ') FROM candidate_sources s WHERE s.candidate = c.id) AS sources,
         f.label AS final, f.how, r.text
  FROM candidates c JOIN pool_reviews r ON r.id = c.review LEFT JOIN final_labels f ON f.candidate = c.id;

CREATE VIEW explain AS
  SELECT p.triplet, s.name AS source, p.n, p.kind, p.detail FROM provenance p JOIN sources s ON s.id = p.source
  UNION ALL
  SELECT v.triplet, s.name, 1000, 'verdict', coalesce(v.label, 'abstains') || ' ' || printf('%.3f', v.score)
  FROM verdicts v JOIN sources s ON s.id = v.source
  UNION ALL
  SELECT t.triplet, t.variant, 2000 + t.round, 'training set', 'S_' || t.round FROM training_sets t
  UNION ALL
  SELECT e.triplet, 'release', 3000, 'released', 'v' || e.version || ', ' || e.split || ', ' || e.annotation FROM released e
  UNION ALL
  SELECT x.triplet, x.stage, 3000, 'left out', x.reason || ': ' || x.detail FROM rejected x WHERE x.triplet IS NOT NULL;

CREATE TABLE sources (
  id INTEGER PRIMARY KEY,
  name TEXT NOT NULL UNIQUE,
  kind TEXT NOT NULL CHECK (kind IN ('rules', 'model', 'discriminator', 'gold', 'llm')),
  signature TEXT NOT NULL,
  labelled_by TEXT,
  annotators TEXT CHECK (annotators IN ('people', 'language model', 'mixed'))
) STRICT;
