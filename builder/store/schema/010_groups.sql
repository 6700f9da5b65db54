-- The group that a review was read with (input.group_column), such as its document or place: a group stays in one split.
CREATE TABLE review_groups (
  review INTEGER PRIMARY KEY REFERENCES reviews (id) ON DELETE CASCADE,
  name TEXT NOT NULL
) STRICT;
CREATE INDEX review_groups_name ON review_groups (name);
