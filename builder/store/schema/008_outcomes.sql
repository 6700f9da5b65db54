-- How the story of a triplet ends: what the last release holds of this build, written by the stage release.
CREATE TABLE released (
  triplet INTEGER PRIMARY KEY REFERENCES triplets (id) ON DELETE CASCADE,
  version TEXT NOT NULL,
  split TEXT NOT NULL CHECK (split IN ('train', 'valid', 'test')),
  annotation TEXT NOT NULL
) STRICT;

-- 95% bootstrap intervals over reviews; NULL in scores of older builds.
ALTER TABLE metrics ADD COLUMN low REAL;
ALTER TABLE metrics ADD COLUMN high REAL;
