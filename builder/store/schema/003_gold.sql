-- Gold: pools of candidate triplets, what people and language models say about them, and who decided.
-- A pool is a frozen copy (texts, spans, who proposed what): no foreign key leads to reviews or triplets, so that a rebuild,
-- which replaces those, never costs a label. Offsets are code points into pool_reviews.text, half-open.

-- config: JSON {"n", "strata", "allocation", "sources": {name: signature}}. digest: sha256 of texts and candidates in order; id: its head.
CREATE TABLE pools (
  id TEXT PRIMARY KEY,
  seed INTEGER NOT NULL, split TEXT NOT NULL, config TEXT NOT NULL, digest TEXT NOT NULL UNIQUE, created TEXT NOT NULL
) STRICT;

-- n: place in the pool from 1. A review without a candidate is in the pool too (the paper's 300 hold 24 such).
CREATE TABLE pool_reviews (
  id INTEGER PRIMARY KEY,
  pool TEXT NOT NULL REFERENCES pools (id) ON DELETE CASCADE,
  n INTEGER NOT NULL, key TEXT NOT NULL, text TEXT NOT NULL, rating REAL, stratum TEXT NOT NULL,
  UNIQUE (pool, n), UNIQUE (pool, key)
) STRICT;

-- spans: JSON as in triplets.spans: {"aspect": [[start, end], …], "aspect_full", "opinion", "opinion_full", "owner"?}. name: aspect and
-- opinion spans with polarity, what makes it the same triplet. n: blinded place in the pool from 1, candidates of a review together;
-- NULL: nobody's proposal, a person found it missing (its reporters label it YY; it has no candidate_sources).
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

-- Who proposed a candidate when the pool was made: 'rules', 'C3' (variant and last round) …
CREATE TABLE candidate_sources (
  candidate INTEGER NOT NULL REFERENCES candidates (id) ON DELETE CASCADE,
  source TEXT NOT NULL, confidence REAL,
  PRIMARY KEY (candidate, source)
) STRICT, WITHOUT ROWID;

-- 'discriminator' is copied from verdicts when the pool is made; a candidate that it never judged has no label of its.
CREATE TABLE annotators (
  id INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE, kind TEXT NOT NULL CHECK (kind IN ('human', 'llm', 'discriminator'))
) STRICT;

-- label: YY (right), YN (right pair, wrong polarity), NX (no pair); NULL: the annotator abstains, or its answer was unparsable.
-- polarity, spans: what would be right, where it differs. spans: JSON {"aspect": [[start, end], …], "opinion": …}, only what changes.
-- The triplet that a label stands for: YY the candidate, with spans if given; YN the candidate with the right polarity if given;
-- NX with spans: the candidate with those (and the right polarity if given); otherwise none.
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

-- A person looked at a whole review and has nothing (more) to add: what tells "no triplet" from "not seen".
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

-- Raw answers of language models by the hash of endpoint and payload: a rerun asks nothing twice. Never holds a key.
-- parsed: how many of the payload's candidates got a label from it, of asked.
CREATE TABLE judge_answers (
  payload_hash TEXT PRIMARY KEY,
  model TEXT NOT NULL, endpoint TEXT NOT NULL, payload TEXT NOT NULL, raw TEXT NOT NULL,
  asked INTEGER NOT NULL, parsed INTEGER NOT NULL,
  prompt_tokens INTEGER NOT NULL, completion_tokens INTEGER NOT NULL, at TEXT NOT NULL
) STRICT;

-- What people decided about each candidate: an adjudication, else what all said, else the answer of more than half. Open disputes have no row.
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

-- For people: every candidate of every pool with its review and who proposed it.
CREATE VIEW pooled AS
  SELECT r.pool, r.n AS review_n, r.key AS review, c.id AS candidate, c.n, c.aspect, c.opinion, c.polarity,
         (SELECT group_concat(s.source, ' ') FROM candidate_sources s WHERE s.candidate = c.id) AS sources,
         f.label AS final, f.how, r.text
  FROM candidates c JOIN pool_reviews r ON r.id = c.review LEFT JOIN final_labels f ON f.candidate = c.id;
