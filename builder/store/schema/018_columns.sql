-- Columns of the input that pass through to the release (input.keep_columns), as text.
CREATE TABLE review_columns (
  review INTEGER NOT NULL REFERENCES reviews (id) ON DELETE CASCADE,
  name TEXT NOT NULL,
  value TEXT NOT NULL,
  PRIMARY KEY (review, name)
) STRICT, WITHOUT ROWID;
