-- the lexicon words that most triplets rest on
SELECT list, word, category, place, triplets FROM lexicon_use WHERE triplets > 0 ORDER BY triplets DESC, list, word LIMIT 200
