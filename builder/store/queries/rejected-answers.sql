-- what language models wrote that became no triplet, by review
SELECT item AS review_key, detail AS model, reason, raw AS wrote FROM rejected WHERE stage = 'label' ORDER BY model, reason, review_key
