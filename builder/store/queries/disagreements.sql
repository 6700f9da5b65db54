-- candidates that the discriminator does not call YY
SELECT id, review_key, aspect, opinion, polarity, label, round(score, 3) AS yy, text FROM disagreements ORDER BY score
