"""A text as its writer saw it: without what files, spreadsheets and pages leave in it. Pure.

In: a text as given. Out: the text with HTML entities, tags and Excel's escapes (`_x0008_`) as the characters that they
stand for, Kangxi radicals and compatibility forms as ordinary characters, private-use characters as blanks, without
control and zero-width characters, and with words joined whose characters stand apart (味 道 很 好); and the stored code
points of each character.

For a search texts are folded: both scripts, widths and letter cases are one.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Iterable, Iterator, Sequence
from html import unescape
from html.entities import html5
from itertools import pairwise
from typing import NamedTuple

from builder.core.records import Span, merge_spans
from builder.reviews.script import HAN, HAN_RANGES, converter

_LEGACY = "|".join(sorted((name for name in html5 if not name.endswith(";")), key=len, reverse=True))
_BLOCKS = "address|article|aside|blockquote|br|center|dd|div|dl|dt|h[1-6]|hr|li|ol|p|section|table|tbody|td|th|tr|ul"
_INLINE = "a|abbr|b|big|code|del|em|font|i|img|ins|label|mark|q|s|small|span|strike|strong|sub|sup|u|wbr"
_ESCAPE = re.compile(
    # An entity, perhaps escaped again (&amp;lt;); without a semicolon only where HTML 5 reads one.
    r"&(?:(?:amp|AMP|#0*38|#[xX]0*26);)*"
    rf"(?P<entity>#[0-9]{{1,8}};?|#[xX][0-9A-Fa-f]{{1,6}};?|[A-Za-z][A-Za-z0-9]{{1,31}};|(?:{_LEGACY})(?![\w=;]))"
    r"|_x(?P<code>[0-9A-Fa-f]{4})_"
    rf"|<(?i:/?(?P<block>{_BLOCKS})|/?(?:{_INLINE}))(?:[\s/][^<>]{{0,300}})?>",
    re.ASCII,
)
_SURROGATES = frozenset(("D8", "D9", "DA", "DB", "DC", "DD", "DE", "DF"))
_PASSES = 2
"""Tags may be written with entities (&lt;br&gt;)."""

_JOINER = "\u200d"
_GONE = "\x00-\x08\x0e-\x1b\x7f\u00ad\u034f\u061c\u180e\u200b-\u200f\u202a-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb"
_BLANK = "\x1c-\x1f\x80-\x84\x86-\x9f\ue000-\uf8ff\U000f0000-\U0010ffff"
"""Separators, broken quotation marks, and the pictures of some font."""
_COMPATIBLE = (
    "\u2e80-\u2fdf\uf900-\ufaff\U0002f800-\U0002fa1f"  # radicals and doubled ideographs
    "\ufe10-\ufe16\ufe41-\ufe44\ufe50-\ufe57\U0001d400-\U0001d7ff"  # vertical and small marks, mathematical letters
)
_UNUSUAL = re.compile(f"[{_GONE}{_BLANK}{_COMPATIBLE}]")
_IS_GONE, _IS_BLANK = re.compile(f"[{_GONE}]"), re.compile(f"[{_BLANK}]")
_RADICALS = dict(
    zip(
        "⺁⺇⺈⺊⺌⺍⺒⺓⺝⺟⺠⺩⺫⺬⺮⺯⺷⺸⺽⻁⻄⻅⻆⻇⻉⻊⻋⻑⻓⻔⻕⻗⻘⻙⻚⻛⻜⻝⻡⻢⻣⻤⻥⻦⻧⻨⻩⻬⻮⻰⻲⻳",
        "厂几刀卜小小巳幺月母民王目示竹糸羊羊臼虎西见角角贝足车長长门阜雨青韦页风飞食首马骨鬼鱼鸟卤麦黄齐齿龙龟龟",
        strict=True,
    )
)
"""Radicals that are words, where NFKC names no character; by Unicode's EquivalentUnifiedIdeograph."""
_APART = re.compile(rf"(?<!\S)[{HAN_RANGES}][^\S\n]{{1,3}}[{HAN_RANGES}](?!\S)")
_TOKEN = re.compile(r"\S+")
_WORD = re.compile(r"\w\w")
_LEAST, _WIDEST = 4, 3
"""So many Han characters in a row, each by itself, are words spaced out; and the most blanks between them."""


class Repaired(NamedTuple):
    """A text whose character i came from the stored code points [starts[i], ends[i])."""

    text: str
    starts: Sequence[int]
    ends: Sequence[int]


_Pieces = Iterator[tuple[int, int, str]]
"""What of a text is replaced: [start, end) and by what, in order."""


class _Forms(dict[str, str]):
    """A character -> the ordinary one that it stands for, mostly itself; filled as characters come."""

    def __missing__(self, char: str) -> str:
        if not _UNUSUAL.match(char):
            form = char
        elif _IS_GONE.match(char):
            form = ""
        elif _IS_BLANK.match(char):
            form = " "
        else:
            plain = unicodedata.normalize("NFKC", char)
            form = plain if len(plain) == 1 else char
        self[char] = form
        return form


FORMS = _Forms(_RADICALS)


def repair(text: str) -> Repaired:
    """The text as it was meant; most texts are so already."""
    repaired = Repaired(text, range(len(text)), range(1, len(text) + 1))
    for _ in range(_PASSES):
        repaired = _replaced(repaired, _escapes)
    return _replaced(_replaced(repaired, _forms), _gaps)


def _replaced(repaired: Repaired, find: Callable[[str], _Pieces]) -> Repaired:
    """The text with what `find` names replaced. One character stands for all that it replaces."""
    text, starts, ends = repaired
    pieces = list(find(text))
    if not pieces:
        return repaired
    parts, first, last, at = list[str](), list[int](), list[int](), 0
    for start, end, new in [*pieces, (len(text), len(text), "")]:
        parts += text[at:start], new
        first += starts[at:start]
        last += ends[at:start]
        if new:
            first.append(starts[start])
            last.append(ends[end - 1])
        at = end
    return Repaired("".join(parts), first, last)


def _escapes(text: str) -> _Pieces:
    if "&" not in text and "<" not in text and "_x" not in text:
        return
    for match in _ESCAPE.finditer(text):
        if entity := match["entity"]:
            if entity.endswith(";") and entity[0] != "#" and entity not in html5:
                continue
            yield match.start(), match.end(), unescape(f"&{entity}")[:1]
        elif code := match["code"]:
            yield match.start(), match.end(), chr(int(code, 16)) if code[:2].upper() not in _SURROGATES else " "
        else:
            yield match.start(), match.end(), "\n" if match["block"] else ""


def _forms(text: str) -> _Pieces:
    for match in _UNUSUAL.finditer(text):
        char, at = match[0], match.start()
        joins = char == _JOINER and unicodedata.category(text[at + 1 : at + 2] or " ") == "So"
        if not joins and FORMS[char] != char:
            yield at, at + 1, FORMS[char]


def _gaps(text: str) -> _Pieces:
    """The blanks inside words whose characters stand apart; wider ones between words stay."""
    if not _APART.search(text):
        return
    row: list[re.Match[str]] = []
    for token in _TOKEN.finditer(text):
        gap = text[row[-1].end() : token.start()] if row else ""
        if row and (len(gap) > _WIDEST or "\n" in gap or _WORD.search(token[0])):
            yield from _row_gaps(row)
            row = []
        if not _WORD.search(token[0]):
            row.append(token)
    yield from _row_gaps(row)


def _row_gaps(row: Sequence[re.Match[str]]) -> _Pieces:
    if sum(bool(HAN.search(token[0])) for token in row) < _LEAST:
        return
    gaps = [(token.end(), after.start()) for token, after in pairwise(row)]
    width = min(end - start for start, end in gaps)
    yield from ((start, end, "") for start, end in gaps if end - start == width)


# ---- Folded for a search

INVISIBLE = re.compile(
    "[\u00ad\u034f\u180e\u200b-\u200f\u202a-\u202e\u2060-\u206f\ufe00-\ufe0f\ufeff\U000e0100-\U000e01ef]"
)
SHOWN_AS = {chr(code): chr(code - 0xFEE0) for code in range(0xFF01, 0xFF5F) if chr(code) not in "，！？：；（）～"}
SHOWN_AS |= dict.fromkeys("\r\v\f\x85\u2028\u2029", "\n")


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
    hits = (match.span() for word in words if word for match in re.finditer(re.escape(word), whole))
    return merge_spans((starts[start], starts[end - 1] + 1) for start, end in hits)
