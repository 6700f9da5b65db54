"""Names in Latin letters and digits that no lexicon holds (Zeta15X, KX-520), and sizes in front of a name (16吋的筆電).

In: the constituents of a clause. Out: the same, in which such a name is an aspect of the class that the pack gives to
codes. Pure.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from builder.engine.constituents import THINGS, Constituent, Term
from builder.engine.symbols import ASPECT, DE, symbol_set
from builder.language.lexicon.resources import Lexicon

_PARTS = symbol_set("NOUN OTHER NUM VERB")
"""What a part of a code may be read as, where no lexicon holds it."""
_WRITTEN = re.compile(r"[a-z0-9.+\-]+")
_CODE = re.compile(r"(?=.*\d)[a-z][a-z0-9.+\-]+[a-z0-9+]|\d{3,5}[a-z]{1,3}|20\d\d[a-z]+\d+")
_MEASURE = re.compile(r".*\d(?:hz|fps|gb|tb|mb|g|t|k|kg|cm|mm|mah|wh|w|v|nits?|p|bit|rmb|ntd?|usd|%)")
_STANDARD = re.compile(r"[a-z]{1,4}\d(?:\.\d)?")
"""As short as the names of standards are (DDR5, USB3.2)."""
_NUMBER = re.compile(r"\d+(?:\.\d+)?")
_LONGEST_SIZE = 2
"""Words that a number and its unit are at most."""


def name_codes(clause: list[Constituent], text: str, cls: str, lexicon: Lexicon) -> list[Constituent]:
    """The clause with its codes as aspects of class `cls`; what touches a code in Latin letters belongs to it."""
    out: list[Constituent] = []
    at = 0
    while at < len(clause):
        stop = at
        while stop < len(clause) and _is_part(clause, stop, at):
            stop += 1
        run = clause[at:stop]
        word = text[run[0].start : run[-1].end].lower().replace(" ", "") if run else ""
        if not _CODE.fullmatch(word) or _MEASURE.fullmatch(word) or _STANDARD.fullmatch(word):
            out += clause[at : max(stop, at + 1)]
        else:
            out.append(_make_aspect(run, text, cls, lexicon))
        at = max(stop, at + 1)
    return out


def add_sizes(clause: list[Constituent], text: str, sizes: tuple[str, ...]) -> list[Constituent]:
    """16吋的筆電, 12代處理器: a number with one of `sizes` in front of a thing belongs to its name, also before 的."""
    out: list[Constituent] = []
    for item in clause:
        first = _find_size(out, item, sizes) if item.term is not None and item.term.role in THINGS else len(out)
        if first < len(out):
            item = item._replace(start=out[first].start, word=text[out[first].start : item.end])
            del out[first:]
        out.append(item)
    return out


def _find_size(before: Sequence[Constituent], item: Constituent, sizes: tuple[str, ...]) -> int:
    """Where in `before` the size begins that touches a thing; its length if none does."""
    at, touching, word = len(before), item.start, ""
    if at and before[-1].symbol == DE and before[-1].end == touching:
        at, touching = at - 1, before[-1].start
    for first in range(at - 1, max(-1, at - 1 - _LONGEST_SIZE), -1):
        part = before[first]
        if part.end != touching or part.term is not None or part.phrase is not None:
            break
        word, touching = part.word + word, part.start
        if any(_NUMBER.fullmatch(word.removesuffix(size)) for size in sizes if word.endswith(size)):
            return first
    return len(before)


def _is_part(clause: Sequence[Constituent], i: int, first: int) -> bool:
    item = clause[i]
    word = item.word.lower()
    if not (item.symbol in _PARTS or item.symbol == ASPECT) or not _WRITTEN.fullmatch(word):
        return False
    gap = 0 if i == first else item.start - clause[i - 1].end
    return gap == 0 or (gap == 1 and not _MEASURE.fullmatch(word))


def _make_aspect(run: Sequence[Constituent], text: str, cls: str, lexicon: Lexicon) -> Constituent:
    known = [item for item in run if item.term is not None]
    if len(run) == 1 and known:
        return run[0]
    start, end = run[0].start, run[-1].end
    term = known[0].term if known else Term(cls, role=lexicon.classes.get(cls, ""))
    return Constituent(start, end, ASPECT, text[start:end], run[-1].last, None, term)
