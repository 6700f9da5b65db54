-- sources that disagree: how many triplets two sources share, and how many one of them finds alone
-- Triplets count as shared where aspect, opinion (by place) and polarity are equal. Models learn from the rules: that both find a triplet is no second opinion.
WITH
  named AS (SELECT id, name, 1 << row_number() OVER (ORDER BY id) AS bit FROM sources WHERE kind <> 'discriminator'),
  masks AS (SELECT mask, count(*) AS number
            FROM (SELECT sum(n.bit) AS mask FROM proposals p JOIN named n ON n.id = p.source GROUP BY p.triplet) GROUP BY mask),
  pairs AS (SELECT a.name AS first, b.name AS second, a.bit AS one, b.bit AS other FROM named a JOIN named b ON a.id < b.id)
SELECT first, second, sum(number * (mask & one > 0) * (mask & other > 0)) AS both,
       sum(number * (mask & one > 0) * (mask & other = 0)) AS only_first, sum(number * (mask & one = 0) * (mask & other > 0)) AS only_second,
       round(100.0 * sum(number * (mask & one > 0) * (mask & other > 0)) / max(sum(number * (mask & (one | other) > 0)), 1), 1) AS agree_percent
FROM pairs, masks GROUP BY first, second ORDER BY agree_percent, first, second
