-- lexicon words on which no triplet rests
-- Words that never fire in these reviews; place is the line of the lexicon.
SELECT list, word, category, place FROM lexicon_use WHERE triplets = 0 ORDER BY list, place, word
