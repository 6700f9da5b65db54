"""Why the rules miss a triplet. In: what is annotated, what the rules answer, and which candidates they weighed. Out:
one of REASONS.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Protocol

from builder.engine.deciding import Weighed

JOINED, POLARITY = "two opinions held as one, or two aspects", "polarity alone"
CANDIDATE = "pair weighed, but not chosen"
WEIGHED, UNREAD = "opinion weighed, aspect no candidate", "opinion not weighed"
REASONS = (JOINED, POLARITY, CANDIDATE, WEIGHED, UNREAD)


class Scorer(Protocol):
    """What a script that scores whole reviews says of an answer and a triplet that is annotated."""

    def match(self, answer: Mapping[str, str], due: Mapping[str, str], polarity: bool) -> bool:
        """Whether the answer is that triplet, by polarity too or without."""
        ...

    def fits(self, answer: str, core: str, full: str) -> bool:
        """Whether a word lies between the annotated core and its longest form."""
        ...


def is_part(part: str, whole: str) -> bool:
    """Whether the characters of one stand in the other in order."""
    rest = iter(whole)
    return bool(part) and all(character in rest for character in part)


def find_reason(
    scorer: Scorer,
    due: Mapping[str, str],
    answers: Sequence[Mapping[str, str]],
    seen: Sequence[tuple[str, Sequence[Weighed]]],
) -> str:
    """What stopped the rules from finding a triplet that no answer of theirs is left for.

    Args:
        scorer: says what matches.
        due: aspect, aspect_full, opinion, opinion_full and polarity as annotated, in the script that the engine reads.
        answers: all that the rules answer for the text, in the same script.
        seen: each opinion that was weighed, with its candidates.
    """
    if any(scorer.match(answer, due, True) for answer in answers):
        return JOINED
    if any(scorer.match(answer, due, False) for answer in answers):
        return POLARITY
    own = [weighed for word, weighed in seen if is_part(due["opinion"], word) or is_part(word, due["opinion_full"])]
    aspects = [item.aspect.word for weighed in own for item in weighed]
    if any(scorer.fits(aspect, due["aspect"], due["aspect_full"]) for aspect in aspects):
        return CANDIDATE
    return WEIGHED if own else UNREAD
