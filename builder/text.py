"""The view of a text: normalised, in Traditional script, with an offset map back to the stored text; and its clauses.

In: the stored text, never edited. Out: `View`, whose every character knows the code points it came from, and the
sentence and clause spans of the view. Everything downstream (words, rules, models) reads the view, and
`View.to_source` brings its spans back.
"""

from __future__ import annotations

import re
import unicodedata
from bisect import bisect_left
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from hashlib import blake2b
from itertools import pairwise
from typing import Literal

from builder.records import Element, Span

Script = Literal["traditional", "simplified", "mixed", "none"]

# Blocks written with \U so that a character beyond the BMP is as much Han as one inside it.
HAN_RANGES = "\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003ffff"
HAN = re.compile(f"[{HAN_RANGES}]")
INVISIBLE = re.compile(
    "[\u00ad\u034f\u180e\u200b-\u200f\u202a-\u202e\u2060-\u206f\ufe00-\ufe0f\ufeff\U000e0100-\U000e01ef]"
)
_SENTENCE_END = frozenset("。！？!?…\n")
_CLAUSE_END = frozenset('，,；;：:～~()（）「」『』【】《》〈〉[]"“”|/')
SHOWN_AS = {chr(code): chr(code - 0xFEE0) for code in range(0xFF01, 0xFF5F) if chr(code) not in "，！？：；（）～"}
SHOWN_AS |= dict.fromkeys("\r\v\f\x85\u2028\u2029", "\n")
# What a view shows otherwise: the above, and as a space every other control, surrogate and space (categories Cc, Cs,
# Zs).
_OTHERWISE = re.compile(
    f"[{''.join(SHOWN_AS)}" + r"\x00-\x09\x0e-\x1f\x7f-\xa0\u1680\u2000-\u200a\u202f\u205f\u3000\ud800-\udfff]"
)
MAX_REPEAT = 2
"""Runs of a Han character or mark longer than this are shown once: 超超超超好吃 is 超好吃, 好好吃 stays."""
_NO_NOODLES = "面積前對子試露部孔上相貌臨向朝目色具帶談紗霜膜交壁頰龐容板海世"
"""What follows 面 that is a side or a face: 面積, 面對, 面試."""
_NOODLES = re.compile(
    rf"(?:^|(?<=[，。！？；：、,.!?;:…)）】」】#\s~～]))面(?![{_NO_NOODLES}])"
    r"|(?<=[吃煮碗份但是就然且而的和跟點冷拌素燃鹼莜筱擀削燜潑辣雞])"
    r"面(?=[很也有的太挺蠻超非真比特不煮更是都還夠偏略軟硬少多一冰涼坨糊斷，。！？；、,.!?;…～~裡和全巨竟基已根入勁勁送到放泡]|$)"
    r"|(?<![裡里外上下對方店後前旁側表桌地門四底背正反另兩雙單一頁全場畫界市臉海])"
    r"面(?=包|皮|粉|疙瘩|片|條|筋|湯|餅|糊|醬|食|館|團|胚|坯|質|量|類|份)"
)
"""面 that is no side or face: OpenCC finds 麵 only in words (湯麵), not where it stands alone (面很劲道)."""
_RUN = re.compile(rf"([^0-9A-Za-z])\1{{{MAX_REPEAT},}}")
_MAY_END = re.compile(r"\W")


@dataclass(frozen=True, slots=True)
class View:
    """A normalised text. Character i came from stored code points [starts[i], ends[i])."""

    text: str
    starts: tuple[int, ...]
    ends: tuple[int, ...]

    @property
    def unshortened(self) -> bool:
        """Whether every code point of the stored text is shown, so that offsets are those of the stored text."""
        return not self.ends or self.ends[-1] == len(self.text)

    def to_source(self, span: Span) -> Span:
        """The stored code points that a non-empty view span covers."""
        start, end = span
        assert 0 <= start < end <= len(self.text), f"span {span} outside a view of {len(self.text)} characters"
        return self.starts[start], self.ends[end - 1]

    def element(self, spans: Sequence[Span], source: str) -> Element:
        """View spans as an element of the stored text: surface and merged, ordered spans."""
        if len(spans) == 1:  # nearly all of them
            start, end = span = self.to_source(spans[0])
            return Element(source[start:end], (span,))
        merged: list[Span] = []
        for start, end in sorted(self.to_source(span) for span in spans):
            if merged and start <= merged[-1][1]:
                merged[-1] = merged[-1][0], max(end, merged[-1][1])
            else:
                merged.append((start, end))
        return Element("".join(source[start:end] for start, end in merged), tuple(merged))


@dataclass(frozen=True, slots=True)
class Clause:
    """A clause of a view: [start, end) without its boundary marks, and the number of the sentence it belongs to."""

    start: int
    end: int
    sentence: int


@cache
def converter(name: str) -> Callable[[str], str]:
    """OpenCC conversion `name` (s2tw, t2s, …) that never changes a length: where phrases would, single characters are
    used.
    """
    from opencc import OpenCC

    convert = OpenCC(name).convert
    char = cache(lambda c: converted if len(converted := convert(c)) == 1 else c)

    def same_length(text: str) -> str:
        converted: str = convert(text)
        return converted if len(converted) == len(text) else "".join(char(c) for c in text)

    return same_length


class _Votes(dict[str, int]):
    """Character -> +1 if only Traditional texts write it, -1 if only Simplified ones do, 0 for both and for what is no
    Han; filled as characters come.
    """

    def __missing__(self, char: str) -> int:
        vote = 0
        if char not in _SHARED and HAN.match(char):
            simplified, traditional = converter("t2s")(char), converter("s2tw")(char)
            vote = (simplified != char and traditional == char) - (traditional != char and simplified == char)
        self[char] = vote
        return vote


# Written in both scripts: OpenCC calls them Simplified, Taiwanese reviews use them (台, 里 in names, 只, 才, 面 in
# 方面 …).
_SHARED = frozenset(
    "台里只才面后干出了松几丰卷吃周回向后布并志扎担斗朴杯杆柜栗欲沾注泄洒涂游准炮烟症皂秋秘筑系累舍蔑谷踪辟迹郁钟鉴闲霉須余余万于云伙划虱凶岩肴灶唇粽峰糍"
)


def tells_script(text: str) -> bool:
    """Whether a text has a character that only one script writes."""
    return any(map(_votes.__getitem__, text))


_votes = _Votes()


def script_of(text: str) -> Script:
    """Which script a text is written in; `mixed` if a fifth or more of the telling characters belong to the other
    one.
    """
    votes = list(map(_votes.__getitem__, text))
    telling = len(votes) - votes.count(0)
    if not telling:
        return "traditional" if HAN.search(text) else "none"
    simplified = votes.count(-1) / telling
    return "simplified" if simplified > 0.8 else "mixed" if simplified >= 0.2 else "traditional"


class Variants:
    """Spelling variants and what is read instead, of equal length (lexicons/variants.tsv); replaced in one pass,
    longest first.
    """

    def __init__(self, table: Mapping[str, str]) -> None:
        self._table = dict(table)
        self._pattern = re.compile("|".join(map(re.escape, sorted(table, key=len, reverse=True))))
        self._anywhere = re.compile(
            "|".join(sorted(_by_telling(word, read) for word, read in table.items() if word != read))
        )

    def canonical(self, text: str) -> str:
        """`text` with its variants replaced; most texts have none, which `_anywhere` finds out ten times faster."""
        if not self._table or not self._anywhere.search(text):
            return text
        return self._pattern.sub(lambda match: self._table[match[0]], text)


def _by_telling(word: str, read: str) -> str:
    """An expression that finds `word` from the character that is replaced: that one is rare, a word's first character
    may be 不.
    """
    at = next(i for i, (a, b) in enumerate(zip(word, read, strict=True)) if a != b)
    return f"{re.escape(word[at])}(?<={re.escape(word[: at + 1])}){re.escape(word[at + 1 :])}"


def view(text: str, variants: Variants | None = None, script: Script | None = None) -> View:
    """Normalise `text` for reading by rules and models.

    Width folded, invisible characters dropped, runs of one character shortened, Simplified and mixed texts in
    Traditional script (OpenCC s2tw), spelling variants (same length, from lexicons/variants.tsv) made one.
    """
    shown = _OTHERWISE.sub(lambda match: SHOWN_AS.get(match[0], " "), text)
    starts: Sequence[int] = range(len(text))
    if INVISIBLE.search(shown):
        starts = [i for i in starts if not INVISIBLE.match(shown[i])]
        shown = INVISIBLE.sub("", shown)
    if _RUN.search(shown):
        starts = _without_runs(shown, starts)
        shown = _RUN.sub(r"\1", shown)
    if (script or script_of(shown)) in ("simplified", "mixed"):
        shown = _NOODLES.sub("麵", converter("s2tw")(shown))
    if variants is not None:
        shown = variants.canonical(shown)
    assert len(shown) == len(starts), f"view of {len(starts)} characters became {len(shown)}"
    ends = range(1, len(text) + 1) if isinstance(starts, range) else [i + 1 for i in starts]
    return View(shown, tuple(starts), tuple(ends))


def _without_runs(text: str, places: Sequence[int]) -> list[int]:
    """The places of a text's characters, of a run only its first one's."""
    out: list[int] = []
    at = 0
    for run in _RUN.finditer(text):
        out += places[at : run.start() + 1]
        at = run.end()
    return [*out, *places[at:]]


def _boundary(text: str, i: int) -> Literal["", "clause", "sentence"]:
    """What the character at i ends. A space ends a clause only beside a Han character or a mark: `cp 值` and `so good`
    stay.
    """
    char = text[i]
    if char in _SENTENCE_END:
        return "sentence"
    if char in _CLAUSE_END:
        joins = (char in ",:./~" and _between_digits(text, i)) or (char == "/" and _between_letters(text, i))
        return "" if joins else "clause"
    if char == ".":
        return (
            ""
            if _between_digits(text, i) or (i + 1 < len(text) and text[i + 1].isascii() and text[i + 1].isalnum())
            else "sentence"
        )
    if char == " ":
        return "" if _latin(text, i, -1) or _latin(text, i, 1) else "clause"
    return "clause" if unicodedata.category(char) in ("So", "Sk") else ""


def _between_digits(text: str, i: int) -> bool:
    return 0 < i < len(text) - 1 and text[i - 1].isdigit() and text[i + 1].isdigit()


def _between_letters(text: str, i: int) -> bool:
    """Whether the character at i stands between two Latin letters (C/P值)."""
    around = text[i - 1 : i] + text[i + 1 : i + 2]
    return len(around) == 2 and around.isascii() and around.isalpha()


def _latin(text: str, i: int, step: Literal[-1, 1]) -> bool:
    """Whether the first character that is no space, from i in a direction, is a Latin letter or digit."""
    while 0 <= i < len(text) and text[i] == " ":
        i += step
    return 0 <= i < len(text) and text[i].isascii() and text[i].isalnum()


def clauses(text: str) -> list[Clause]:
    """The clauses of a view's text, in order; boundary marks belong to none. 、 separates list items, not clauses.

    Spaces between Han characters and line breaks are boundaries: three reviews in ten punctuate by spaces.
    """
    out: list[Clause] = []
    start, sentence, fresh = 0, 0, False
    for match in _MAY_END.finditer(text):
        i = match.start()
        kind = _boundary(text, i)
        if not kind:
            continue
        if text[start:i].strip():
            out.append(Clause(start, i, sentence))
            fresh = True
        start = i + 1
        if kind == "sentence" and fresh:
            sentence, fresh = sentence + 1, False
    return [*out, Clause(start, len(text), sentence)] if text[start:].strip() else out


def sentences(parts: list[Clause]) -> list[Span]:
    """The sentence spans that `clauses` numbered."""
    spans: dict[int, Span] = {}
    for part in parts:
        spans[part.sentence] = spans.get(part.sentence, (part.start, part.end))[0], part.end
    return list(spans.values())


def same_script(text: str, script: Literal["keep", "traditional", "simplified"]) -> str:
    """`text` for release in the wanted script. The length never changes, so offsets of the stored text stay true."""
    name = {"keep": "", "traditional": "s2tw", "simplified": "t2s"}[script]
    return converter(name)(text) if name else text


def hashed(text: str, size: int = 16) -> bytes:
    """So many bytes by which texts are told apart where all of them would fill the memory; lone surrogates are hashed
    too.
    """
    return blake2b(text.encode("utf-8", "surrogatepass"), digest_size=size).digest()


def in_order(spans: Iterable[Span]) -> bool:
    """Whether spans are non-empty, ordered and disjoint."""
    ordered = list(spans)
    return all(start < end for start, end in ordered) and all(a[1] <= b[0] for a, b in pairwise(ordered))


def from_source(shown: View, spans: Iterable[Span]) -> tuple[Span, ...] | None:
    """Spans of the stored text as spans of its view; None where one covers nothing that the view shows."""
    out: list[Span] = []
    for start, end in spans:
        first, last = bisect_left(shown.ends, start + 1), bisect_left(shown.starts, end)
        if first >= last:
            return None
        if out and out[-1][1] == first:
            out[-1] = out[-1][0], last
        else:
            out.append((first, last))
    return tuple(out)
