"""Names in Latin letters and digits that no lexicon holds (Zeta15X, KX-520): codes of models.

In: the constituents of a clause. Out: the same, in which such a name is an aspect of the class that the pack gives to
codes. Pure.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from builder.engine.constituents import Constituent, Term
from builder.engine.symbols import ASPECT, symbol_set
from builder.lexicon.resources import Lexicon

_PARTS = symbol_set("NOUN OTHER NUM VERB")
"""What a part of a code may be read as, where no lexicon holds it."""
_WRITTEN = re.compile(r"[a-z0-9.+\-]+")
_CODE = re.compile(r"(?=.*\d)[a-z][a-z0-9.+\-]+[a-z0-9+]")
_MEASURE = re.compile(r".*\d(?:hz|fps|gb|tb|mb|g|t|k|kg|cm|mm|mah|wh|w|v|nits?|p|bit|%)")
_STANDARD = re.compile(r"[a-z]{1,4}\d(?:\.\d)?")
"""As short as the names of standards are (DDR5, USB3.2)."""


def name_codes(clause: list[Constituent], text: str, cls: str, lexicon: Lexicon) -> list[Constituent]:
    """The clause with its codes as aspects of class `cls`; what touches a code in Latin letters belongs to it."""
    out: list[Constituent] = []
    at = 0
    while at < len(clause):
        stop = at
        while stop < len(clause) and _is_part(clause, stop, at):
            stop += 1
        run = clause[at:stop]
        if not run or not _is_code(text[run[0].start : run[-1].end].lower().replace(" ", "")):
            out += clause[at : max(stop, at + 1)]
        else:
            out.append(_make_aspect(run, text, cls, lexicon))
        at = max(stop, at + 1)
    return out


def _is_part(clause: Sequence[Constituent], i: int, first: int) -> bool:
    item = clause[i]
    word = item.word.lower()
    if not (item.symbol in _PARTS or item.symbol == ASPECT) or not _WRITTEN.fullmatch(word):
        return False
    gap = 0 if i == first else item.start - clause[i - 1].end
    return gap == 0 or (gap == 1 and not _MEASURE.fullmatch(word))


def _is_code(word: str) -> bool:
    return bool(_CODE.fullmatch(word)) and not _MEASURE.fullmatch(word) and not _STANDARD.fullmatch(word)


def _make_aspect(run: Sequence[Constituent], text: str, cls: str, lexicon: Lexicon) -> Constituent:
    known = [item for item in run if item.term is not None]
    if len(run) == 1 and known:
        return run[0]
    start, end = run[0].start, run[-1].end
    term = known[0].term if known else Term(cls, role=lexicon.classes.get(cls, ""))
    return Constituent(start, end, ASPECT, text[start:end], run[-1].last, None, term)
