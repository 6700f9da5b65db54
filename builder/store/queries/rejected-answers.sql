-- what language models wrote that became no triplet, by review
SELECT item AS review, detail AS model, reason, raw AS wrote FROM rejected WHERE stage = 'label' ORDER BY model, reason, review
