-- Which split a text (by its normalised hash) was given first, kept when reviews are ingested anew: adding reviews moves none.
CREATE TABLE splits (
  norm_hash TEXT PRIMARY KEY,
  split TEXT NOT NULL CHECK (split IN ('train', 'valid', 'test'))
) STRICT, WITHOUT ROWID;

-- Reviews that say nearly the same: each with the first of them. A review that is like no other has no row.
CREATE TABLE near_duplicates (
  review INTEGER PRIMARY KEY REFERENCES reviews (id) ON DELETE CASCADE,
  cluster INTEGER NOT NULL REFERENCES reviews (id) ON DELETE CASCADE
) STRICT;
CREATE INDEX near_duplicates_cluster ON near_duplicates (cluster);
