-- normalised texts that stand in more than one split (none, if all is well)
SELECT norm_hash, group_concat(DISTINCT split) AS splits, count(*) AS reviews FROM reviews WHERE split IS NOT NULL
GROUP BY norm_hash HAVING count(DISTINCT split) > 1
