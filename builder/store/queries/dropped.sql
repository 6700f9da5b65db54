-- candidates that the last release does not hold, with who dropped each and why
-- What the view dropped_triplets holds. judge, score and score_limit are empty where no judge decided.
SELECT id, review_key, stage, reason, judge, round(score, 3) AS score, score_limit, rule, aspect, opinion, polarity, sources, detail, text
FROM dropped_triplets ORDER BY id
