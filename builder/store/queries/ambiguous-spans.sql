-- candidates whose words alone do not tell their place
-- ambiguous: the words stand in the text more than once; unlocatable: they are parted (不…鹹), so the joined words stand nowhere.
SELECT r.key, t.aspect, t.opinion, t.polarity,
       CASE WHEN instr(r.text, t.aspect) = 0 THEN 'aspect unlocatable' WHEN instr(r.text, t.opinion) = 0 THEN 'opinion unlocatable'
            WHEN length(replace(r.text, t.aspect, '')) < length(r.text) - length(t.aspect) THEN 'aspect ambiguous' ELSE 'opinion ambiguous' END AS why,
       r.text
FROM triplets t JOIN reviews r ON r.id = t.review
WHERE instr(r.text, t.aspect) = 0 OR instr(r.text, t.opinion) = 0
   OR length(replace(r.text, t.aspect, '')) < length(r.text) - length(t.aspect)
   OR length(replace(r.text, t.opinion, '')) < length(r.text) - length(t.opinion)
ORDER BY t.id
