"""Scores of predicted against gold triplets, pure, each with a signature that says what was counted.

In: per review, lists of (aspect, opinion, polarity) strings. Out: `Score`; `builder.gold.metrics.systems` adds
intervals and paired tests. `exact`: strings equal. `lenient`: one aspect contains the other and the shorter opinion is
a character subsequence of the longer; brackets and spaces are ignored. Duplicates inside a review count once; matching
is one to one, greedy in gold order. Two empty sides score 100 in the micro metrics; the `paper` metric (example-based,
Zhang and Zhou 2014, as its released scorer computes it) counts a review that is empty on both sides 0: its ceiling is
the share of gold reviews that say something.
"""

from builder.gold.metrics.scores import Answer, Answers, Match, Part, Score, micro, paper

__all__ = ["Answer", "Answers", "Match", "Part", "Score", "micro", "paper"]
