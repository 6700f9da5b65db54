-- A review a row says when it was written, as its neighbours do.
DROP VIEW reviews_wide;
CREATE VIEW reviews_wide AS
  SELECT r.id, r.key, r.public_id, r.text, r.source, r.place, r.rating, d.date, r.split, e.version AS released, e.annotation,
         e.unverified_negative,
         count(x.triplet) AS triplets,
         count(*) FILTER (WHERE t.polarity = 'POS') AS positive,
         count(*) FILTER (WHERE t.polarity = 'NEG') AS negative,
         count(*) FILTER (WHERE t.polarity = 'NEU') AS neutral,
         group_concat(t.aspect || '/' || t.opinion || '/' || t.polarity, ' ') AS summary,
         min(x.confidence) AS least_confidence
  FROM reviews r
       LEFT JOIN review_dates d ON d.review = r.id
       LEFT JOIN released_reviews e ON e.review = r.id
       LEFT JOIN released x ON x.triplet BETWEEN r.id << 31 AND (r.id << 31) + 2147483647
       LEFT JOIN triplets t ON t.id = x.triplet
  WHERE r.duplicate_of IS NULL
  GROUP BY r.id;
