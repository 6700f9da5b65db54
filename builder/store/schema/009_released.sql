-- What a row of the last release says of each triplet and review, so that files and database join. Written by the stage release.

-- The id of the review in release files: its key, or a hash that leads back to no site (release.ids = "hash"). Set by the stage release.
ALTER TABLE reviews ADD COLUMN public_id TEXT;
CREATE INDEX reviews_public_id ON reviews (public_id) WHERE public_id IS NOT NULL;

-- The stored review and triplet that a rejected item is about, where there is one; `item` names it as the release files do.
ALTER TABLE rejected ADD COLUMN review INTEGER REFERENCES reviews (id) ON DELETE CASCADE;
ALTER TABLE rejected ADD COLUMN triplet INTEGER REFERENCES triplets (id) ON DELETE SET NULL;
CREATE INDEX rejected_review ON rejected (review) WHERE review IS NOT NULL;
CREATE INDEX rejected_triplet ON rejected (triplet) WHERE triplet IS NOT NULL;

-- How likely the triplet is right, 0 to 1: the judge's score, calibrated. NULL where the judge is not calibrated.
ALTER TABLE verdicts ADD COLUMN confidence REAL;

-- public_id: the triplet's id in release files. confidence, verdict: the discriminator's, as released. rule: the pairing rule that made it.
-- aspect_category, opinion_category: class and category of the words in the lexicon, NULL for words that it does not hold.
ALTER TABLE released ADD COLUMN public_id TEXT;
ALTER TABLE released ADD COLUMN confidence REAL;
ALTER TABLE released ADD COLUMN verdict TEXT;
ALTER TABLE released ADD COLUMN rule TEXT;
ALTER TABLE released ADD COLUMN aspect_category TEXT;
ALTER TABLE released ADD COLUMN opinion_category TEXT;
CREATE INDEX released_public_id ON released (public_id) WHERE public_id IS NOT NULL;

-- The reviews of the last release. unverified_negative: nothing was found in it, and nobody has checked that nothing is there.
CREATE TABLE released_reviews (
  review INTEGER PRIMARY KEY REFERENCES reviews (id) ON DELETE CASCADE,
  version TEXT NOT NULL,
  split TEXT NOT NULL CHECK (split IN ('train', 'valid', 'test')),
  annotation TEXT NOT NULL,
  unverified_negative INTEGER NOT NULL CHECK (unverified_negative IN (0, 1))
) STRICT;

-- Releases of older builders: what can be told without a new one.
UPDATE reviews SET public_id = key
  WHERE duplicate_of IS NULL AND (SELECT value ->> '$.config."release.ids"' FROM settings WHERE name = 'build') = 'keep';
UPDATE released SET
  public_id = (SELECT r.public_id || ':' || printf('%08x', released.triplet & 2147483647) FROM reviews r WHERE r.id = released.triplet >> 31),
  verdict = (SELECT v.label FROM verdicts v JOIN sources s ON s.id = v.source AND s.name = 'discriminator' WHERE v.triplet = released.triplet),
  rule = (SELECT p.rule FROM proposals p WHERE p.triplet = released.triplet AND p.rule IS NOT NULL ORDER BY p.source DESC LIMIT 1);
INSERT INTO released_reviews (review, version, split, annotation, unverified_negative)
  SELECT triplet >> 31, max(version), max(split), max(annotation), 0 FROM released GROUP BY triplet >> 31;

-- Every triplet of the last release with all that its files say of it, and the ids of the input beside those of the files.
CREATE VIEW released_triplets AS
  SELECT e.triplet AS id, e.public_id, r.key AS review, r.public_id AS review_public_id, e.version, e.split, e.annotation,
         t.aspect, t.opinion, t.polarity, t.valence, e.confidence, e.verdict, e.rule, e.aspect_category, e.opinion_category,
         t.aspect_full, t.opinion_full, t.owner,
         (SELECT group_concat(name, ' ') FROM (SELECT s.name FROM proposals p JOIN sources s ON s.id = p.source
                                               WHERE p.triplet = e.triplet ORDER BY s.id)) AS sources,
         r.source, r.rating, r.text
  FROM released e JOIN triplets t ON t.id = e.triplet JOIN reviews r ON r.id = t.review;

-- Every triplet that any source proposes, released or not: what the release was chosen from.
CREATE VIEW candidate_triplets AS
  SELECT t.id, r.key AS review, t.aspect, t.opinion, t.polarity, t.valence, t.aspect_full, t.opinion_full, t.owner, r.split,
         (SELECT group_concat(name, ' ') FROM (SELECT s.name FROM proposals p JOIN sources s ON s.id = p.source
                                               WHERE p.triplet = t.id ORDER BY s.id)) AS sources,
         e.version AS released, r.text
  FROM triplets t JOIN reviews r ON r.id = t.review LEFT JOIN released e ON e.triplet = t.id;

-- The current triplets are the released ones; until this version the view held every candidate.
DROP VIEW current_triplets;
CREATE VIEW current_triplets AS
  SELECT id, review, aspect, opinion, polarity, valence, aspect_full, opinion_full, owner, split, sources, text FROM released_triplets;
