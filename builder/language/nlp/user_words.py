"""How words that are known beforehand steer the segmenter: user words, numbers, Latin, marks and emoji.

In: a chain of text, the CRF's margins between its characters, and the user's words. Out: gaps that are decided (JOIN,
SPLIT) and tags that are. User words are chosen per chain by one dynamic programme: long words count more than
proportionally (服務態度 beats 服務 + 態度 where the lexicon has it), and every gap where a choice contradicts the CRF
costs what the CRF holds against it, so that overlapping words are settled by context, and user words of one character
break up what the CRF glued (酒超) but no sure word (大家).
"""

from __future__ import annotations

import math
import re
import unicodedata
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import accumulate

from builder.core.records import Span
from builder.language.nlp.conllu import TAGS_V1
from builder.language.nlp.features import fold
from builder.reviews import person_names
from builder.reviews.script import converter

_SINGLE_BONUS = 3.0
_SINGLE_IN_WORD_BONUS = 2.0
_BONUS = 5.0
_ORPHAN = 10.0
"""What a user word pays for the one character that it leaves of another user word."""
_NONE: frozenset[int] = frozenset()
_GROWTH: float = 1.5
_RUN = re.compile(
    r"\d+(?:[.,:]\d+)*[%％]?|[A-Za-z\u00c0-\u024f]+(?:['’&.][A-Za-z\u00c0-\u024f]+)*|[\U0001f1e6-\U0001f1ff]{2}"
    r"|[\U0001f300-\U0001faff][\U0001f3fb-\U0001f3ff]?|([^\w\s]|_)\1*"
)


@dataclass(frozen=True, slots=True)
class Words:
    """The user's words, lower case, ready to be found.

    `lengths` holds by the first two characters the lengths to try, longest first; `parts` what a word is cut into (微
    辣).
    """

    tags: Mapping[str, str]
    lengths: Mapping[str, tuple[int, ...]]
    parts: Mapping[str, tuple[str, ...]]

    @classmethod
    def of(cls, words: Mapping[str, str]) -> Words:
        """The words of a user's dictionary {word: UPOS, "" or its parts with blanks between}."""
        tags: dict[str, str] = {}
        parts: dict[str, tuple[str, ...]] = {}
        lengths: dict[str, tuple[int, ...]] = {}
        for word, tag in words.items():
            shown = word.lower()
            if " " in tag:
                parts[shown] = tuple(tag.lower().split())
                tag = ""
            tags[shown] = TAGS_V1.get(tag, tag)
            size, known = len(shown), lengths.get(shown[:2], ())
            if size not in known:
                lengths[shown[:2]] = tuple(sorted((*known, size), reverse=True)) if known else (size,)
        return cls(tags, lengths, parts)

    def matches(self, chain: str) -> Iterator[Span]:
        """Every occurrence of every word, also overlapping ones, by start."""
        shown = chain.lower()
        if len(shown) != len(chain):
            shown = chain
        tags, lengths = self.tags, self.lengths
        for start, char in enumerate(shown):
            if char in tags:
                yield start, start + 1
            for length in lengths.get(shown[start : start + 2], ()):
                if 1 < length <= len(shown) - start and shown[start : start + length] in tags:
                    yield start, start + length

    def find_glued(self, chain: str, start: int, end: int) -> int | None:
        """Where, in a Latin run, a user word begins that goes on behind it: 6 of ``BenchiCP值``; None if there is none.

        Its Latin letters are two or more: of one alone (派 of ``apple派`` has none, ``Q彈`` one) nobody can tell.
        """
        for at in range(start + 1, end - 1 if chain[start].isalpha() else start):
            for length in self.lengths.get(chain[at : at + 2].lower(), ()):
                if at + length > end and chain[at : at + length].lower() in self.tags:
                    return at
        return None

    def tag(self, surface: str) -> str:
        """The tag the user gave, or the empty string."""
        return self.tags.get(surface.lower(), "")

    def cut(self, surface: str) -> Iterator[tuple[int, int, str | None]]:
        """(start, end, tag) of the parts of a user word, or of the word; None for a part that is no user word."""
        at = 0
        for part in self.parts.get(surface.lower(), (surface,)):
            yield at, at + len(part), self.tags.get(part.lower())
            at += len(part)


def runs(chain: str) -> Iterator[tuple[int, int, str]]:
    """Numbers, Latin words, marks and emoji as (start, end, tag); the tag is empty where the segmenter shall say it."""
    for match in _RUN.finditer(chain):
        yield match.start(), match.end(), _mark_tag(chain[match.start()])


def names(chain: str) -> Iterator[tuple[int, int, str]]:
    """Names of people, as `runs`: 小美 of 店員小美很親切 says nothing of a size or of beauty. Their tag is X, which no
    rule reads as a thing that is judged: of 店員小美態度好 that is 態度. A surname before a title is left alone.
    """
    names = person_names.spans(converter("t2s")(fold(chain)))
    return ((start, end, "X") for start, end in names if end - start > 1)


@lru_cache(maxsize=4096)
def _mark_tag(char: str) -> str:
    category = unicodedata.category(char)
    return "SYM" if category[0] == "S" or char in "%％" else "PUNCT" if category[0] == "P" else ""


def chosen(chain: str, words: Words, margins: Sequence[float], joined: Sequence[bool]) -> list[Span]:
    """The user words of a chain that come out whole. margins[k] > 0: the CRF wants a gap before k; joined[k]: there
    can be none.

    A word pays for the gaps inside it that the CRF wants and for gaps at its edges that the CRF does not want; a gap
    between two user words is paid once. One that leaves a single character of two others pays for that.
    """
    size = len(chain)
    by_end: dict[int, list[int]] = {}
    begun: set[int] = set()
    for start, end in words.matches(chain):
        if not joined[start] and (end == size or not joined[end]):
            by_end.setdefault(end, []).append(start)
            if end - start > 1:
                begun.add(start)
    if not by_end:
        return []
    inside = [0.0, *accumulate(margin if margin > 0 else 0.0 for margin in margins)]
    edge = [0.0, *(-margin if margin < 0 else 0.0 for margin in margins[1:]), 0.0]
    broken = _find_broken(begun, by_end)
    best, closed, first = [0.0] * (size + 1), [-math.inf] * (size + 1), [-1] * (size + 1)
    for end in range(1, size + 1):
        for start in by_end.get(end, ()):
            value = (
                max(best[start] - edge[start] - (_ORPHAN if start in broken else 0.0), closed[start])
                + _bonus(chain, start, end, edge)
                - inside[end]
                + inside[start + 1]
                - edge[end]
            )
            if value > closed[end]:
                closed[end], first[end] = value, start
        best[end] = max(best[end - 1], closed[end])
    out: list[Span] = []
    end, touching = size, False
    while end > 0:
        if touching or closed[end] > best[end - 1]:
            start = first[end]
            out.append((start, end))
            touching = closed[start] > best[start] - edge[start] - (_ORPHAN if start in broken else 0.0)
            end = start
        else:
            end -= 1
    return out[::-1]


def _find_broken(begun: Collection[int], by_end: Mapping[int, Sequence[int]]) -> frozenset[int]:
    """Starts of words that leave one character of a word where a third one goes on: 能夠 leaves 效 of 效能 夠強.

    Not where that character is a user word itself. `begun`: where words of several characters start.
    """
    inner = [start for start in begun if start + 1 in begun and start + 2 in begun]
    if not inner:  # nearly always
        return _NONE
    return frozenset(
        start + 1 for start in inner if start in by_end.get(start + 2, ()) and start not in by_end.get(start + 1, ())
    )


def _bonus(chain: str, start: int, end: int, edge: Sequence[float]) -> float:
    """What a user word is worth: one character less where breaking it off breaks a dictionary word (使用, 可以)."""
    if end - start > 1:
        return _BONUS * math.pow(end - start, _GROWTH)
    broken = (edge[start] > 0 and _in_dictionary(chain[start - 1 : end])) or (
        edge[end] > 0 and _in_dictionary(chain[start : end + 1])
    )
    return _SINGLE_IN_WORD_BONUS if broken else _SINGLE_BONUS


@lru_cache(maxsize=65536)
def _in_dictionary(word: str) -> bool:
    import rjieba

    return bool(rjieba.has_word(converter("t2s")(fold(word))))
