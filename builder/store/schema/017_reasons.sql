-- What decided on a proposal, as values that stages read; the story says the same in words. Empty in proposals of older builds.
-- margin: by how much the aspect is ahead of the next candidate, NULL where nothing was weighed. entry: file and line of the lexicon.
ALTER TABLE proposals ADD COLUMN margin REAL;
ALTER TABLE proposals ADD COLUMN aspect_category TEXT;
ALTER TABLE proposals ADD COLUMN aspect_entry TEXT;
ALTER TABLE proposals ADD COLUMN opinion_category TEXT;
ALTER TABLE proposals ADD COLUMN opinion_entry TEXT;
