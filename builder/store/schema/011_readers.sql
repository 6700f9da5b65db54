-- What readers with tools of their own need: an index that `sqlite-utils search` and Datasette can use, what tables mean, and a review a row.

-- Words of texts for other tools' full-text search: `reviews_fts MATCH '服務'` needs no function of ours. The tokenizer cuts at blanks,
-- so the index holds every string of one to four Han characters of a text, and other words whole. Filled with `search`.
CREATE VIRTUAL TABLE reviews_fts USING fts5 (text, content="reviews", content_rowid="id", detail=none);
INSERT INTO search (search) VALUES ('delete-all');
DELETE FROM settings WHERE name = 'search.at';

-- A sentence about each table and view (where "column" is empty) and each column, as docs/reference/database.md has them.
CREATE TABLE descriptions (
  name TEXT NOT NULL,
  "column" TEXT NOT NULL,
  meaning TEXT NOT NULL,
  PRIMARY KEY (name, "column")
) STRICT, WITHOUT ROWID;

-- A review a row, with what was released of it: for spreadsheets and data frames.
CREATE VIEW reviews_wide AS
  SELECT r.id, r.key, r.public_id, r.text, r.source, r.place, r.rating, r.split, e.version AS released, e.annotation, e.unverified_negative,
         count(x.triplet) AS triplets,
         count(*) FILTER (WHERE t.polarity = 'POS') AS positive,
         count(*) FILTER (WHERE t.polarity = 'NEG') AS negative,
         count(*) FILTER (WHERE t.polarity = 'NEU') AS neutral,
         group_concat(t.aspect || '/' || t.opinion || '/' || t.polarity, ' ') AS summary,
         min(x.confidence) AS least_confidence
  FROM reviews r
       LEFT JOIN released_reviews e ON e.review = r.id
       LEFT JOIN released x ON x.triplet BETWEEN r.id << 31 AND (r.id << 31) + 2147483647
       LEFT JOIN triplets t ON t.id = x.triplet
  WHERE r.duplicate_of IS NULL
  GROUP BY r.id;
