-- No language model writes triplets of whole reviews any more: what one wrote leaves the sources.
DELETE FROM sources WHERE name LIKE 'llm:%';
DELETE FROM triplets WHERE NOT EXISTS (SELECT 1 FROM proposals p WHERE p.triplet = triplets.id);
DELETE FROM rejected WHERE stage = 'label';
DROP TABLE labeller_answers;
