-- What inspection needs to be quick: full-text search, the use of every lexicon word, and indexes for the named queries.

-- One row a review (rowid = reviews.id): its text folded, as pairs of neighbouring characters (builder/store/search.py). unicode61 would
-- glue Han characters together and trigram needs three; a phrase of pairs finds exactly what LIKE finds, two characters included.
CREATE VIRTUAL TABLE search USING fts5 (pairs, content='');

-- Each lexicon word and how many triplets of the rules rest on it; written at the end of the stage seed.
CREATE TABLE lexicon_use (
  list TEXT NOT NULL CHECK (list IN ('aspects', 'opinions')),
  word TEXT NOT NULL, category TEXT NOT NULL, place TEXT NOT NULL, triplets INTEGER NOT NULL,
  PRIMARY KEY (list, word)
) STRICT, WITHOUT ROWID;

CREATE INDEX triplets_aspect ON triplets (aspect, polarity);
CREATE INDEX triplets_opinion ON triplets (opinion, polarity);
CREATE INDEX triplets_pair ON triplets (review, aspect, opinion, polarity);
CREATE INDEX proposals_rule ON proposals (rule, triplet) WHERE rule IS NOT NULL;
CREATE INDEX proposals_negated ON proposals (triplet) WHERE story LIKE '%["negator",%';
CREATE INDEX verdicts_label ON verdicts (source, label, score, triplet);
CREATE INDEX reviews_split ON reviews (split) WHERE duplicate_of IS NULL;
CREATE INDEX training_sets_triplet ON training_sets (triplet);
CREATE INDEX rejected_item ON rejected (item);
CREATE INDEX proposals_review ON proposals (source, triplet >> 31);
CREATE INDEX triplets_polarity ON triplets (polarity);
CREATE INDEX reviews_norm_split ON reviews (norm_hash, split) WHERE split IS NOT NULL;
CREATE INDEX reviews_duplicate ON reviews (duplicate_of) WHERE duplicate_of IS NOT NULL;
