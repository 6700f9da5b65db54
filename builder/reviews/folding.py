"""Texts folded for comparison in a search: both scripts, widths and letter cases are one.

In: a text, words that somebody looks for. Out: the fold of a text, and where in a text folded words stand.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from builder.core.records import Span
from builder.reviews.repair import FORMS
from builder.reviews.script import HAN, converter
from builder.reviews.text import INVISIBLE, SHOWN_AS


class _Folds(dict[int, str]):
    """Code point -> what a search compares, for `str.translate`; filled as characters come."""

    def __missing__(self, code: int) -> str:
        char = chr(code)
        if INVISIBLE.match(char):
            folded = ""
        else:
            lower = SHOWN_AS.get(char, FORMS[char] or char).lower()
            simple = converter("t2s")(lower) if len(lower) == 1 and HAN.match(lower) else lower
            folded = simple if len(simple) == 1 else char
            folded = " " if folded.isspace() else folded
        self[code] = folded
        return folded


_folds = _Folds()


def fold(text: str) -> str:
    """`text` for comparison in a search: both scripts, widths and letter cases are one, invisible characters are gone.

    Each character by itself, so that whatever stands in a text stands in its fold too: fold(a + b) == fold(a) +
    fold(b).
    """
    return text.translate(_folds)


def folded_spans(text: str, words: Iterable[str]) -> list[Span]:
    """Where folded `words` stand in `text`: merged spans of its code points, for showing a search's hits."""
    starts = [i for i, char in enumerate(text) for _ in fold(char)]
    whole = fold(text)
    hits = sorted(
        (starts[match.start()], starts[match.end() - 1] + 1)
        for word in words
        if word
        for match in re.finditer(re.escape(word), whole)
    )
    merged: list[Span] = []
    for start, end in hits:
        if merged and start <= merged[-1][1]:
            merged[-1] = merged[-1][0], max(end, merged[-1][1])
        else:
            merged.append((start, end))
    return merged
