"""Names in Latin letters and digits that no lexicon holds (Zeta15X, KX-520): codes of models, and names written as one
word (LGgram); sizes in front of a name (16吋的筆電).

In: the constituents of a clause. Out: the same, in which such a name is an aspect of the class that the pack gives to
codes, or of the class of the entry that it is made of. Pure.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from builder.engine.constituents import GENERIC, THINGS, Constituent, Term
from builder.engine.symbols import ASPECT, DE, symbol_set
from builder.language.lexicon.resources import Lexicon

_PARTS = symbol_set("NOUN OTHER NUM VERB")
"""What a part of a code may be read as, where no lexicon holds it."""
_WRITTEN = re.compile(r"[a-z0-9.+\-]+")
_CODE = re.compile(r"(?=.*\d)[a-z][a-z0-9.+\-]+[a-z0-9+]|\d{3,5}[a-z]{1,3}|20\d\d[a-z]+\d+")
_MEASURE = re.compile(r".*\d(?:hz|fps|gb|tb|mb|g|t|k|kg|cm|mm|mah|wh|w|v|nits?|p|bit|rmb|ntd?|usd|%)")
_STANDARD = re.compile(r"[a-z]{1,4}\d(?:\.\d)?")
"""As short as the names of standards are (DDR5, USB3.2)."""
_SERIES = re.compile(r"[a-z]\d{1,2}|\d{2}[a-z]")
"""A short code as it stands behind a maker's name (G5, 14X)."""
_UNIT = re.compile(r"\d+[gtkwvp]|[ir]\d")
"""What looks like one and is a measure, or a processor (16G, i7)."""
_COUNTED = frozenset("吋寸代顆")
"""What follows a number that is no name."""
_NUMBERED = re.compile(r"\d{1,2}")
"""A number as it stands behind a series (捷元14)."""
_MEASURES = _COUNTED | frozenset("台年月日號萬千百元塊個款支核線張條種間家天小多分點倍次隻週周歲級折成位人到至~-%.,，")
"""What follows a number that counts something."""
_SIDES = re.compile(r"(?:[a-z]/){1,4}$")
"""Before a part that is called by a letter (A/B面)."""
_VARIANT = re.compile(r".*\d[a-z]{1,2}1\dv")
"""A model whose last part looks like volts (Zeta 15 A12V)."""
_LETTERS = re.compile(r"[a-z]{5,}")
"""As long as a name is that two are written in (LGgram)."""
_NUMBER = re.compile(r"\d+(?:\.\d+)?")
_LONGEST_SIDES = 8
"""Characters of such letters at most."""
_LONGEST_SIZE = 2
"""Words that a number and its unit are at most."""
_FIRST = 4
"""As long as an entry is that a name may begin with, whatever follows (SwiftGo)."""


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
        if out and run and _is_series(word, run, out[-1], text, cls):
            maker = out[-1]
            out[-1] = maker._replace(end=run[-1].end, word=text[maker.start : run[-1].end], last=run[-1].last)
        elif not _CODE.fullmatch(word) or _STANDARD.fullmatch(word) or _measures(word):
            out += [_name_whole(item, lexicon) for item in clause[at : max(stop, at + 1)]]
        else:
            out.append(_make_aspect(run, text, cls, lexicon))
        at = max(stop, at + 1)
    return out


def add_sides(clause: list[Constituent], text: str) -> list[Constituent]:
    """A/B面: letters with a slash before a part that a letter names belong to it."""
    out: list[Constituent] = []
    for item in clause:
        if item.term is not None and text[max(0, item.start - 1) : item.start] == "/":
            sides = _SIDES.search(text[max(0, item.start - _LONGEST_SIDES) : item.start].lower())
            if sides and item.word[:1].isascii() and item.word[:1].isalpha():
                start = item.start - len(sides.group())
                while out and out[-1].start >= start:
                    out.pop()
                item = item._replace(start=start, word=text[start : item.end])
        out.append(item)
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


def _name_whole(item: Constituent, lexicon: Lexicon) -> Constituent:
    """LGgram, SwiftGo, IntelCPU: a word of letters that two entries make, or one begins, is an aspect of that class."""
    word = item.word.lower()
    if item.term is not None or item.symbol not in _PARTS or not _LETTERS.fullmatch(word):
        return item
    cls = _find_class(word, lexicon)
    return item._replace(symbol=ASPECT, term=Term(cls, role=lexicon.classes.get(cls, ""))) if cls else item


def _find_class(word: str, lexicon: Lexicon) -> str:
    """The class of the last of two entries that make a word, else of the longest that begins it; "" if none does."""
    aspects = lexicon.aspects
    for cut in range(2, len(word) - 1):
        if word[:cut] in aspects and word[cut:] in aspects:
            return aspects[word[cut:]].cls
    return next((aspects[word[:cut]].cls for cut in range(len(word) - 1, _FIRST - 1, -1) if word[:cut] in aspects), "")


def _is_series(word: str, run: Sequence[Constituent], maker: Constituent, text: str, cls: str) -> bool:
    """捷元14X, 技嘉G5: a code as short as a measure, where it touches the name of a maker before it."""
    if maker.term is None or maker.term.role in GENERIC or maker.end != run[0].start:
        return False
    if maker.term.cls.partition(".")[0] != cls.partition(".")[0] or text[run[-1].end : run[-1].end + 1] in _COUNTED:
        return False
    if _NUMBERED.fullmatch(word):
        return text[run[-1].end : run[-1].end + 1] not in _MEASURES
    return bool(_SERIES.fullmatch(word)) and not _UNIT.fullmatch(word)


def _is_part(clause: Sequence[Constituent], i: int, first: int) -> bool:
    item = clause[i]
    word = item.word.lower()
    if not (item.symbol in _PARTS or item.symbol == ASPECT) or not _WRITTEN.fullmatch(word):
        return False
    gap = 0 if i == first else item.start - clause[i - 1].end
    return gap == 0 or (gap == 1 and not _MEASURE.fullmatch(word))


def _measures(word: str) -> bool:
    return bool(_MEASURE.fullmatch(word)) and not _VARIANT.fullmatch(word)


def _make_aspect(run: Sequence[Constituent], text: str, cls: str, lexicon: Lexicon) -> Constituent:
    known = [item for item in run if item.term is not None]
    if len(run) == 1 and known:
        return run[0]
    start, end = run[0].start, run[-1].end
    term = known[0].term if known else Term(cls, role=lexicon.classes.get(cls, ""))
    return Constituent(start, end, ASPECT, text[start:end], run[-1].last, None, term)
