-- Tables that the pages' copy of a database has beside those of a build: what makes every page quick.
-- `released`: whether anything is; the bits of `kinds` and the signature `repeating` are those of `browse`.

DROP TABLE IF EXISTS triplet_list;
DROP TABLE IF EXISTS review_list;
DROP TABLE IF EXISTS triplet_facets;
DROP TABLE IF EXISTS word_counts;

-- A row for each candidate, for people and facets.
CREATE TABLE triplet_list (
  id INTEGER PRIMARY KEY, review TEXT NOT NULL, aspect TEXT NOT NULL, opinion TEXT NOT NULL, polarity TEXT NOT NULL,
  valence REAL NOT NULL, split TEXT, released TEXT, confidence REAL, verdict TEXT, rule TEXT, aspect_category TEXT,
  opinion_category TEXT, sources TEXT, source TEXT, text TEXT NOT NULL
) STRICT;
INSERT INTO triplet_list
  SELECT t.id, r.key, t.aspect, t.opinion, t.polarity, t.valence, r.split, 'v' || e.version,
         coalesce(e.confidence,
                  (SELECT round(v.confidence, 4) FROM verdicts v
                   WHERE v.triplet = t.id AND v.confidence IS NOT NULL)),
         coalesce(e.verdict, (SELECT v.label FROM verdicts v WHERE v.triplet = t.id ORDER BY v.source LIMIT 1)),
         coalesce(e.rule, (SELECT p.rule FROM proposals p WHERE p.triplet = t.id AND p.rule IS NOT NULL)),
         e.aspect_category, e.opinion_category,
         (SELECT group_concat(name, ' ')
          FROM (SELECT s.name FROM triplet_sources s WHERE s.triplet = t.id ORDER BY s.source)),
         r.source,
         CASE WHEN length(r.text) > 80 THEN substr(r.text, 1, 80) || '…' ELSE r.text END
  FROM triplets t JOIN reviews r ON r.id = t.review LEFT JOIN released e ON e.triplet = t.id;
CREATE INDEX triplet_list_review ON triplet_list (review);
CREATE INDEX triplet_list_aspect ON triplet_list (aspect);
CREATE INDEX triplet_list_opinion ON triplet_list (opinion);
CREATE INDEX triplet_list_polarity ON triplet_list (polarity);
CREATE INDEX triplet_list_split ON triplet_list (split);
CREATE INDEX triplet_list_released ON triplet_list (released);
CREATE INDEX triplet_list_confidence ON triplet_list (confidence);
CREATE INDEX triplet_list_verdict ON triplet_list (verdict);
CREATE INDEX triplet_list_rule ON triplet_list (rule);
CREATE INDEX triplet_list_aspect_category ON triplet_list (aspect_category);
CREATE INDEX triplet_list_opinion_category ON triplet_list (opinion_category);
CREATE INDEX triplet_list_sources ON triplet_list (sources);
CREATE INDEX triplet_list_source ON triplet_list (source);

-- A row for each distinct review, for its filters.
CREATE TABLE review_list (
  id INTEGER PRIMARY KEY, source TEXT, split TEXT, rating REAL, month TEXT, released INTEGER NOT NULL
) STRICT;
INSERT INTO review_list
  SELECT r.id, r.source, coalesce(e.split, r.split), r.rating, substr(d.date, 1, 7), e.review IS NOT NULL
  FROM reviews r LEFT JOIN released_reviews e ON e.review = r.id LEFT JOIN review_dates d ON d.review = r.id
  WHERE r.duplicate_of IS NULL;

-- A row for each candidate with what filters ask of it; aspect and opinion are folded.
CREATE TABLE triplet_facets (
  review INTEGER NOT NULL, triplet INTEGER NOT NULL, kinds INTEGER NOT NULL, polarity TEXT NOT NULL, rule TEXT,
  category TEXT, tenth INTEGER, confidence REAL, aspect TEXT NOT NULL, opinion TEXT NOT NULL,
  PRIMARY KEY (review, triplet)
) STRICT, WITHOUT ROWID;
INSERT INTO triplet_facets
  SELECT t.review, t.id,
         CASE WHEN e.triplet IS NOT NULL THEN :RELEASED WHEN :released THEN :LEFT_OUT ELSE 0 END
         | coalesce((SELECT sum(DISTINCT CASE s.kind WHEN 'rules' THEN :RULES WHEN 'gold' THEN :GOLD ELSE :MODELS END)
                     FROM proposals p JOIN sources s ON s.id = p.source
                     WHERE p.triplet = t.id AND NOT (s.kind = 'model' AND s.signature = :repeating)), 0),
         t.polarity, l.rule, l.aspect_category,
         CASE WHEN l.confidence < 0.5 THEN 0 ELSE min(9, CAST(10 * l.confidence + 1e-9 AS INTEGER)) END, l.confidence,
         fold(t.aspect), fold(t.opinion)
  FROM triplets t JOIN triplet_list l ON l.id = t.id LEFT JOIN released e ON e.triplet = t.id ORDER BY t.review, t.id;
CREATE INDEX triplet_facets_aspect ON triplet_facets (aspect, kinds);
CREATE INDEX triplet_facets_opinion ON triplet_facets (opinion, kinds);

-- A row for each word of a role, as each script writes it most often; before a release all candidates count.
CREATE TABLE word_counts (
  role TEXT NOT NULL, word TEXT NOT NULL, traditional TEXT NOT NULL, simplified TEXT NOT NULL,
  released INTEGER NOT NULL, POS INTEGER NOT NULL, NEG INTEGER NOT NULL, NEU INTEGER NOT NULL,
  candidates INTEGER NOT NULL,
  PRIMARY KEY (role, word)
) STRICT, WITHOUT ROWID;
CREATE INDEX word_counts_released ON word_counts (role, released DESC, candidates DESC);
