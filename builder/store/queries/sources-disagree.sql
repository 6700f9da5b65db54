-- sources that disagree: how many triplets two sources share, and how many one of them finds alone
-- Triplets count as shared where aspect, opinion (by place) and polarity are equal. Only reviews that both have read count. Models that a build trains learn from the rules: that both find a triplet is no second opinion.
WITH
  named AS (SELECT id, name, 1 << row_number() OVER (ORDER BY id) AS bit FROM sources WHERE kind <> 'discriminator'),
  choosy AS (SELECT coalesce(sum(bit), 0) AS bits FROM named WHERE id IN (SELECT source FROM labelled_reviews)),
  readers AS (SELECT l.review, sum(n.bit) AS bits FROM labelled_reviews l JOIN named n ON n.id = l.source GROUP BY l.review),
  masks AS (SELECT mask, unread, count(*) AS number
            FROM (SELECT sum(n.bit) AS mask, (SELECT bits FROM choosy) - coalesce(max(r.bits), 0) AS unread
                  FROM proposals p JOIN named n ON n.id = p.source LEFT JOIN readers r ON r.review = p.triplet >> 31 GROUP BY p.triplet)
            GROUP BY mask, unread),
  pairs AS (SELECT a.name AS first, b.name AS second, a.bit AS one, b.bit AS other FROM named a JOIN named b ON a.id < b.id),
  counts AS (SELECT first, second, mask & one > 0 AS by_first, mask & other > 0 AS by_second, number * (unread & (one | other) = 0) AS number
             FROM pairs, masks)
SELECT first, second, sum(number * by_first * by_second) AS both, sum(number * by_first * (1 - by_second)) AS only_first,
       sum(number * (1 - by_first) * by_second) AS only_second,
       round(100.0 * sum(number * by_first * by_second) / max(sum(number * (by_first | by_second)), 1), 1) AS agree_percent
FROM counts GROUP BY first, second ORDER BY agree_percent, first, second
