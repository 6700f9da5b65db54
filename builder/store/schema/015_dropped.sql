-- What a build dropped has a row for each candidate; released triplets say where and when they come from, and by whom. One name has one
-- type: `review` is the row id of a review in tables and views, `review_key` its id in the input.

-- judge: the source whose verdict or confidence dropped a candidate. score: what it gave; score_limit: what was due.
ALTER TABLE rejected ADD COLUMN judge TEXT;
ALTER TABLE rejected ADD COLUMN score REAL;
ALTER TABLE rejected ADD COLUMN score_limit REAL;

ALTER TABLE labeller_answers RENAME COLUMN review TO review_key;

-- Who says a triplet: whoever proposes it, and the judge that calls it right or was the one to add it. E0 names no source of its own: it is
-- what rules and judge hold together.
CREATE VIEW triplet_sources AS
  SELECT p.triplet, p.source, s.name FROM proposals p JOIN sources s ON s.id = p.source WHERE s.name <> 'E0'
  UNION ALL
  SELECT v.triplet, v.source, s.name FROM verdicts v JOIN sources s ON s.id = v.source
  WHERE NOT EXISTS (SELECT 1 FROM sources e WHERE e.name = 'E0' AND e.signature = 'rules')
    AND (v.label = 'YY' OR NOT EXISTS (SELECT 1 FROM proposals p JOIN sources o ON o.id = p.source WHERE p.triplet = v.triplet AND o.name <> 'E0'));

-- sources: names as in the release's files.
ALTER TABLE released ADD COLUMN sources TEXT;
UPDATE released SET sources = (
  SELECT group_concat(name, ' ') FROM (SELECT s.name FROM proposals p JOIN sources s ON s.id = p.source
                                       WHERE p.triplet = released.triplet ORDER BY s.id));

DROP VIEW current_triplets;
DROP VIEW released_triplets;
CREATE VIEW released_triplets AS
  SELECT e.triplet AS id, e.public_id, r.id AS review, r.key AS review_key, r.public_id AS review_public_id, e.version, e.split, e.annotation,
         t.aspect, t.opinion, t.polarity, t.valence, e.confidence, e.verdict, e.rule, e.aspect_category, e.opinion_category,
         t.aspect_full, t.opinion_full, t.owner, e.sources, r.source, r.place, r.rating, d.date, r.text
  FROM released e JOIN triplets t ON t.id = e.triplet JOIN reviews r ON r.id = t.review LEFT JOIN review_dates d ON d.review = r.id;
CREATE VIEW current_triplets AS
  SELECT id, review, review_key, aspect, opinion, polarity, valence, aspect_full, opinion_full, owner, split, sources, text
  FROM released_triplets;

-- Candidates that the last release does not hold, each once: the release's own reasons, and those of the stages before it.
CREATE VIEW dropped_triplets AS
  SELECT t.id, r.id AS review, r.key AS review_key, x.stage, x.reason, x.judge, x.score, x.score_limit, x.detail,
         t.aspect, t.opinion, t.polarity, t.valence,
         (SELECT p.rule FROM proposals p WHERE p.triplet = t.id AND p.rule IS NOT NULL ORDER BY p.source DESC LIMIT 1) AS rule,
         (SELECT group_concat(name, ' ') FROM (SELECT s.name FROM triplet_sources s WHERE s.triplet = t.id ORDER BY s.source)) AS sources,
         r.split, r.source, r.place, r.rating, d.date, r.text
  FROM rejected x JOIN triplets t ON t.id = x.triplet JOIN reviews r ON r.id = t.review LEFT JOIN review_dates d ON d.review = r.id;

DROP VIEW candidate_triplets;
CREATE VIEW candidate_triplets AS
  SELECT t.id, r.id AS review, r.key AS review_key, t.aspect, t.opinion, t.polarity, t.valence, t.aspect_full, t.opinion_full, t.owner, r.split,
         (SELECT group_concat(name, ' ') FROM (SELECT s.name FROM triplet_sources s WHERE s.triplet = t.id ORDER BY s.source)) AS sources,
         e.version AS released, (SELECT x.reason FROM rejected x WHERE x.triplet = t.id) AS dropped, r.text
  FROM triplets t JOIN reviews r ON r.id = t.review LEFT JOIN released e ON e.triplet = t.id;

DROP VIEW disagreements;
CREATE VIEW disagreements AS
  SELECT t.id, r.id AS review, r.key AS review_key, t.aspect, t.opinion, t.polarity, s.name AS judge, v.label, v.score, r.text
  FROM verdicts v JOIN sources s ON s.id = v.source JOIN triplets t ON t.id = v.triplet JOIN reviews r ON r.id = t.review
  WHERE v.label <> 'YY';

DROP VIEW pooled;
CREATE VIEW pooled AS
  SELECT r.pool, r.n AS review_n, r.id AS review, r.key AS review_key, c.id AS candidate, c.n, c.aspect, c.opinion, c.polarity,
         (SELECT group_concat(s.source, ' ') FROM candidate_sources s WHERE s.candidate = c.id) AS sources,
         f.label AS final, f.how, r.text
  FROM candidates c JOIN pool_reviews r ON r.id = c.review LEFT JOIN final_labels f ON f.candidate = c.id;

DROP VIEW explain;
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
