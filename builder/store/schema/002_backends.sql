-- The annotations of several backends stand beside each other; the build reads those of its own, the current one.
-- name: the backend and its folder of models as configured; key: what the annotate stage ran under, so that it can go on or be used again.

CREATE TABLE backends (
  id INTEGER PRIMARY KEY,
  name TEXT NOT NULL UNIQUE,
  signature TEXT NOT NULL,
  key TEXT NOT NULL,
  current INTEGER NOT NULL CHECK (current IN (0, 1))
) STRICT;
CREATE UNIQUE INDEX backends_current ON backends (current) WHERE current = 1;

INSERT INTO backends (name, signature, key, current)
  SELECT substr(backend, 1, instr(backend || '/', '/') - 1), backend, coalesce((SELECT value FROM settings WHERE name = 'annotate.key'), ''), 1
  FROM annotations LIMIT 1;

DROP VIEW tokens;
ALTER TABLE annotations RENAME TO annotations_001;

-- words: JSON [[start, end, pos, head, relation], …]; one row a review and backend keeps millions of words small. The view tokens opens it.
CREATE TABLE annotations (
  review INTEGER NOT NULL REFERENCES reviews (id) ON DELETE CASCADE,
  backend INTEGER NOT NULL REFERENCES backends (id) ON DELETE CASCADE,
  words TEXT NOT NULL,
  UNIQUE (review, backend)
) STRICT;
CREATE INDEX annotations_backend ON annotations (backend, review);

INSERT INTO annotations (review, backend, words)
  SELECT a.review, b.id, a.words FROM annotations_001 a JOIN backends b ON b.signature = a.backend ORDER BY a.review;
DROP TABLE annotations_001;

CREATE VIEW tokens AS
  SELECT a.review, b.name AS backend, b.current, w.key AS n, w.value ->> 0 AS start, w.value ->> 1 AS "end",
         substr(r.text, (w.value ->> 0) + 1, (w.value ->> 1) - (w.value ->> 0)) AS word,
         w.value ->> 2 AS pos, w.value ->> 3 AS head, w.value ->> 4 AS relation
  FROM annotations a JOIN backends b ON b.id = a.backend JOIN reviews r ON r.id = a.review, json_each(a.words) w;
