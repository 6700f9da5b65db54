-- the training set of each variant, round by round (Figure 7 of the paper)
SELECT * FROM growth
