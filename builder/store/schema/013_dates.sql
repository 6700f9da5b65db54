-- When a review was written, where its row says so: YYYY-MM-DD, or YYYY-MM.
CREATE TABLE review_dates (
  review INTEGER PRIMARY KEY REFERENCES reviews (id) ON DELETE CASCADE,
  date TEXT NOT NULL
) STRICT;
