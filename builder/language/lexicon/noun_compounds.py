"""Names of a domain's things in raw reviews: runs of nouns that stand together often, and stand free.

In: the documents of a domain, the core's lexicon, texts of another domain to contrast with. Out: `NounCompound`s, the
most frequent first. C-value (Frantzi et al. 2000) tells a name from a part of longer ones, branching entropy (Jin and
Tanaka-Ishii 2006) a name from a piece of one, and the contrast of frequencies what belongs to this domain. Pure.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from builder.language.lexicon.categories import like_name
from builder.language.lexicon.links import ParsedReview
from builder.language.lexicon.resources import Lexicon
from builder.reviews.script import HAN

_NOUNS = frozenset(["NOUN", "PROPN"])
_ALONE = _NOUNS | {"X"}
"""Latin words have the tag X."""
_TOKENS, _SHORTEST, _LONGEST = 3, 2, 8
_COUNTING = frozenset("這那此該每某本一二兩三四五六七八九十幾半數0123456789")
"""What stands before a measure word: a run that mostly follows one of these begins with one (台相機 of 這台相機)."""
PIECE = 0.5
"""Bits of branching entropy below which a run is a piece of a longer one."""
_BEFORE_NAMES = ("time", "person", "pronoun")
"""Reasons of words that are never an aspect, nor the first part of a name."""
_LATIN = re.compile(r"[a-z]{2,12}")


@dataclass(frozen=True, slots=True)
class NounCompound:
    """A run of nouns. `cvalue`: its frequency less what longer names account for; `entropy`: bits of the freer of its
    two sides taken as the less free one; `contrast`: how many times (as a natural logarithm) it is more frequent here
    than in other reviews; `place`: index of the first review that has it, and where.
    """

    word: str
    reviews: int
    cvalue: float
    entropy: float
    contrast: float
    place: tuple[int, int]


@dataclass(slots=True)
class _Counts:
    size: int
    place: tuple[int, int]
    count: int = 0
    reviews: int = 0
    last: int = -1
    left: Counter[str] = field(default_factory=Counter)
    right: Counter[str] = field(default_factory=Counter)
    inside: list[str] = field(default_factory=list)


def find_noun_compounds(
    docs: Iterable[ParsedReview], lexicon: Lexicon, others: Sequence[str], support: int = 3
) -> list[NounCompound]:
    """Nouns and runs of nouns of `support` reviews or more that the lexicon does not hold."""
    counts: dict[str, _Counts] = {}
    length = 0
    for index, doc in enumerate(docs):
        length += len(doc.text)
        _count_runs(counts, doc, index)
    known = {word: use for word, use in counts.items() if use.reviews >= support}
    for word, use in known.items():
        for longer in known:
            if word != longer and word in longer and not word.isascii():
                use.inside.append(longer)
    other = "\n".join(others)
    out = [
        NounCompound(
            word,
            use.reviews,
            round(_cvalue(use, known), 2),
            round(min(_entropy(use.left), _entropy(use.right)), 2),
            round(math.log((use.count + 1) / (length + 1)) - math.log((other.count(word) + 1) / (len(other) + 1)), 2),
            use.place,
        )
        for word, use in known.items()
        if _is_new(word, lexicon) and not _is_piece(use) and not _begins_with_measure(word, use, known)
        if not _is_composed(word, known, lexicon) and not _says_something(word, lexicon)
    ]
    return sorted(out, key=lambda name: (-name.cvalue, name.word))


def _count_runs(counts: dict[str, _Counts], doc: ParsedReview, index: int) -> None:
    tokens = doc.tokens
    for at in range(len(tokens)):
        for size in range(1, _TOKENS + 1):
            run = tokens[at : at + size]
            if (
                len(run) < size
                or run[-1].pos not in (_NOUNS if size > 1 else _ALONE)
                or (size > 1 and run[-2].end != run[-1].start)
            ):
                break
            start, end = run[0].start, run[-1].end
            word = doc.text[start:end].lower()
            if not _is_wordlike(word, size):
                continue
            use = counts.setdefault(word, _Counts(size, (index, start)))
            use.count += 1
            use.left[doc.text[start - 1 : start] or "^"] += 1
            use.right[doc.text[end : end + 1] or "$"] += 1
            if use.last != index:
                use.last = index
                use.reviews += 1


def _is_piece(use: _Counts) -> bool:
    """Whether it stands in longer names only, one of its sides being nearly always the same (競筆 of 電競筆電)."""
    return bool(use.inside) and min(_entropy(use.left), _entropy(use.right)) < PIECE


def _is_wordlike(word: str, size: int) -> bool:
    """Han characters, or one token of Latin letters."""
    if size == 1 and _LATIN.fullmatch(word):
        return True
    return _SHORTEST <= len(word) <= _LONGEST and all(map(HAN.match, word))


def _begins_with_measure(word: str, use: _Counts, known: Mapping[str, _Counts]) -> bool:
    """Whether the first character belongs to what stands before: 台相機, where 相機 stands alone too."""
    counted = sum(count for char, count in use.left.items() if char in _COUNTING)
    return word[1:] in known and 2 * counted >= use.count


def _is_composed(word: str, known: Mapping[str, _Counts], lexicon: Lexicon) -> bool:
    """Whether the rules put it together themselves: an owner and what it has (相機外觀), or an aspect and what is said
    of it (外觀好看).
    """
    for cut in range(2, len(word) - 1):
        first, last = word[:cut], word[cut:]
        if first not in lexicon.aspects and not (first in known and known[first].reviews >= 2 * known[word].reviews):
            continue
        if last in lexicon.opinions or last in lexicon.aspects:
            return True
    return False


def _says_something(word: str, lexicon: Lexicon) -> bool:
    """Whether it is no name but a statement: it ends in an opinion (大廳香香的) or in a word that is never an aspect
    (泳池小孩), begins with one for a time or a person (這次入住), or holds a word of degree (房間有點).
    """
    if word.isascii():
        return False
    if any(word[at : at + size] in lexicon.degree for size in (2, 3) for at in range(len(word) - size + 1)):
        return True
    parts = [(word[:cut], word[cut:]) for cut in range(1, len(word))]
    ends = [last for _, last in parts if len(last) > 1]
    if any(last in lexicon.opinions and last not in lexicon.aspects for last in ends):
        return True
    if any(lexicon.not_aspects.get(last, "origin") != "origin" for last in ends):
        return True
    return any(len(first) > 1 and lexicon.not_aspects.get(first) in _BEFORE_NAMES for first, _ in parts)


def _cvalue(use: _Counts, known: Mapping[str, _Counts]) -> float:
    longer = [known[word].count for word in use.inside]
    return math.log2(use.size + 1) * (use.count - (sum(longer) / len(longer) if longer else 0.0))


def _entropy(sides: Counter[str]) -> float:
    """Bits of what stands beside a word; a border of the text counts as a neighbour that is new every time."""
    total = sum(sides.values())
    shares = [count / total for char, count in sides.items() if char not in "^$"]
    shares += [1 / total] * (sides["^"] + sides["$"])
    return sum(-share * math.log2(share) for share in shares)


def _is_new(word: str, lexicon: Lexicon) -> bool:
    tables = (lexicon.opinions, lexicon.aspects, lexicon.general, lexicon.not_aspects, lexicon.degree, lexicon.irrealis)
    return not any(word in table for table in tables) and not like_name(word, 0.0, lexicon)
