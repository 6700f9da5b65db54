"""The view of a text: normalised, in Traditional script, with an offset map back to the stored text; and its clauses.

In: the stored text, never edited. Out: `View`, whose every character knows the code points it came from, and the
sentence and clause spans of the view. Everything downstream (words, rules, models) reads the view, and
`View.to_source` brings its spans back.

Which part of a text is read: the guest's own words, once. Pure.
"""

from __future__ import annotations

import re
import unicodedata
from bisect import bisect_left
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from hashlib import blake2b
from itertools import pairwise
from typing import Literal

from builder.core.records import Element, Span, merge_spans
from builder.reviews.repair import INVISIBLE, SHOWN_AS, Repaired, repair
from builder.reviews.script import HAN, Script, Variants, find_other_language, script_of, to_traditional

_SHARE = 0.5
"""An original has so many Han characters for each of its translation, or it is in another language."""
NO_LETTER = re.compile(r"[\W_]+")
"""What is neither letter nor digit; as fast for a text as `str.isalnum` is for some of its characters."""

_SERVICE = (
    r"(?:Google|谷歌|Microsoft|微[軟软]|Bing|DeepL|Trip\.?advisor|貓途鷹|猫途鹰|Booking(?:\.com)?|Agoda|Airbnb|Expedia"
    r"|Hotels\.com|Trip\.com|Klook|Facebook|Meta|AI|人工智[慧能]|機器|机器|系統|系统|[電电][腦脑])"
)
_TRANSLATED = (
    rf"(?:(?:以[下上][為为是])?(?:已?由\s*{_SERVICE}\s*(?:提供|自動|自动)?的?翻[譯译]|{_SERVICE}\s*(?:提供的?|自動|自动)?翻[譯译])"
    r"|翻[譯译]自\s*\w{1,8}|(?:automatically |machine )?translated (?:by|with|from) \w+(?:\.com| by \w+)?"
    r"|machine translation|Google による翻訳|Google 번역 제공)"
)
_PLAIN_TRANSLATED = r"(?:中文)?(?:翻[譯译](?:[內内]容|後|后|文)?|(?:[查檢检]看|[顯显]示)?[譯译]文|translation)"
_ORIGINAL = (
    r"(?:(?:[查檢检]看|[顯显]示)?原(?:[始來来]?(?:[評评][論论]|[評评][價价]|[內内]容|[語语]言|留言)|文)"
    r"|(?:see |show |view )?original(?: review| text)?|원본|원문)"
)
_LINE_END = r"\s*(?:[:：]|$)"
_MARK = re.compile(
    r"[(（\[【［「〔][ \t]?"
    rf"(?:(?P<translated>{_TRANSLATED})|(?P<plain>{_PLAIN_TRANSLATED})|(?P<original>{_ORIGINAL}))"
    r"[ \t]?[)）\]】］」〕]\s?[:：]?"
    rf"|^[^\S\n]*(?:(?P<translated_line>{_TRANSLATED})(?=\s|[:：])"
    rf"|(?P<plain_line>{_PLAIN_TRANSLATED}){_LINE_END}|(?P<original_line>{_ORIGINAL}){_LINE_END})[:：]?",
    re.IGNORECASE | re.MULTILINE,
)
"""What stands before a translation or an original, in brackets or at the beginning of a line."""

_OWNER = (
    r"(?:[業业]主|商[家戶户]|店[家主東东方長长]|老[闆板][娘]?|掌[櫃柜]|[經经]理|[業业]者|餐[廳厅]|[飯饭酒]店|[旅賓宾][館馆]|民宿|房[東东]"
    r"|[門门]店|官方|[賣卖]家|管理(?:方|者|層|层|[員员])|客服|[負负][責责]人|品牌方?|小[編编])"
)
_OWNER_LATIN = r"(?:the )?(?:owner|management|manager|host|property|restaurant|hotel|business|seller)"
_AGO = (
    r"(?:\d{1,3} ?(?:[個个]?[年月日天週周]|小?[時时]|分[鐘钟])之?前(?!的)"
    r"|(?:an?|\d{1,3}) (?:year|month|week|day|hour)s? ago)"
)
_WHEN = rf"(?:[(（]?(?:{_AGO}|\d{{2,4}}[年/.-][\d年月日/.:時时分 -]{{1,20}}|[剛刚]{{2}}|[昨今]天)[)）]?)"
_REPLY = (
    rf"(?:(?:[來来]自)?{_OWNER} ?的?(?:回[應应覆复復]|答[覆复復]|解[釋释])"
    rf"|(?:response|reply|comment) (?:from|by) {_OWNER_LATIN}|{_OWNER_LATIN}(?:['’]?s)? (?:response|reply)"
    rf"|オーナーからの返信|{_OWNER}反[饋馈](?= ?{_WHEN}))"
)
_GREETING = (
    r"(?:[親亲][，,～~!！\s愛爱]|您|你好|[謝谢感]|尊敬|敬[愛爱]|(?:非常|十分|很|真的)?(?:抱歉|感[謝谢]|[對对]不[起住])|哈[囉啰]"
    r"|各位|hi\b|hello|dear|thank|sorry)"
)
_GREETS = re.compile(_GREETING, re.IGNORECASE)
_DATED = re.compile(_WHEN)
_ASKED = re.compile(
    r"(?:問|问|詢|询|致[電电]|打[電电][話话]|私[訊信]|[訊讯簡简]息|反[映應应]|留言)[^。！？!?\n]*[。！？!?，,\s]*$"
)
_BEFORE = 40
"""Characters in which the guest may say that he asked the shop."""
_HEAD = rf"{_REPLY}[ \t]{{0,2}}(?:{_WHEN}[ \t]{{0,2}})?"
_REPLY_START = re.compile(
    rf"[【\[［〔(（][ \t]?{_HEAD}[】\]］〕)）]"
    rf"|^[ \t>*•·-]{{0,9}}(?:{_REPLY}[ \t]{{0,2}}{_AGO}|{_HEAD}(?:(?P<colon>[:：])|$|(?={_GREETING})))"
    r"|^[^\n]{1,40}[(（][ \t]?(?:[業业]主|[擁拥]有者|owner)[ \t]?[)）][ \t]{0,2}$"
    rf"|(?<=[^\w，,、；;：:「『“\"'-]){_HEAD}(?:(?P<colon_inside>[:：])|(?={_GREETING}))|{_HEAD}[:：]\s?(?={_GREETING})",
    re.IGNORECASE | re.MULTILINE,
)
"""In brackets, on a line of its own, before a colon or a greeting; behind a comma or a word only before both."""
_QUOTED = frozenset('「『“"')


def find_read_spans(text: str) -> tuple[Span, ...]:
    """The spans of a text that are read, in order, without blanks at their edges; none where all is the owner's."""
    if not HAN.search(text):
        return ((0, len(text)),) if text else ()
    end = _find_reply(text)
    marks = list(_MARK.finditer(text, 0, end)) if _may_hold_marks(text) else []
    if not marks or not _are_of_a_service(marks):
        return ((0, len(text)),) if end == len(text) else tuple(_trimmed(text, [(0, end)]))
    original, translation = _part(text, marks, end)
    return tuple(original if _is_read(text, original, translation) else translation)


def _may_hold_marks(text: str) -> bool:
    return any(word in text for word in _TRACES) or "translat" in text.lower()


_TRACES = ("翻", "譯", "译", "번역")


def _are_of_a_service(marks: Sequence[re.Match[str]]) -> bool:
    """Whether there is a translation: of that a plain word (翻譯) is a mark only beside the mark of an original."""
    kinds = {mark.lastgroup for mark in marks}
    has_original = not kinds.isdisjoint(("original", "original_line"))
    return not kinds.isdisjoint(("translated", "translated_line")) or (
        has_original and not kinds.isdisjoint(("plain", "plain_line"))
    )


def _part(text: str, marks: Sequence[re.Match[str]], end: int) -> tuple[list[Span], list[Span]]:
    """The spans of the original, each thing once, and of the translation. What stands before any mark is original."""
    parts: dict[bool, list[Span]] = {True: [], False: []}
    original, at = True, 0
    for mark in marks:
        parts[original].append((at, mark.start()))
        original, at = (mark.lastgroup or "").startswith("original"), mark.end()
    parts[original].append((at, end))
    return _once(text, _trimmed(text, parts[True])), list(_trimmed(text, parts[False]))


def _trimmed(text: str, spans: Sequence[Span]) -> Iterator[Span]:
    for start, end in spans:
        part = text[start:end]
        if part.strip():
            yield start + len(part) - len(part.lstrip()), start + len(part.rstrip())


def _once(text: str, spans: Iterator[Span]) -> list[Span]:
    """Without the parts that repeat another one: some exports give the original before its translation and behind."""
    out: dict[str, Span] = {}
    for start, end in spans:
        out.setdefault(NO_LETTER.sub("", text[start:end]).lower(), (start, end))
    return list(out.values())


def _is_read(text: str, original: Sequence[Span], translation: Sequence[Span]) -> bool:
    """Whether the original is read, not its translation."""
    first, second = ("\n".join(text[start:end] for start, end in part) for part in (original, translation))
    if not second or not first:
        return bool(first)
    is_chinese = find_other_language(first) is None
    return is_chinese and len(HAN.findall(first)) >= _SHARE * len(HAN.findall(second))


def _find_reply(text: str) -> int:
    """Where the owner's reply begins; the text's end where there is none.

    A shop's answer that the guest reports is none: 打電話問，店家回覆：「沒位子」.
    """
    for match in _REPLY_START.finditer(text):
        start = match.start()
        behind = text[match.end() : match.end() + _BEFORE].lstrip(": ：\n")
        is_greeting = bool(_GREETS.match(behind))
        if match["colon"] or match["colon_inside"]:
            is_reported = behind[:1] in _QUOTED or _ASKED.search(text[max(0, start - _BEFORE) : start])
            if is_reported and not is_greeting:
                continue
        if is_greeting or text[:start].strip() or _DATED.search(match[0]):
            return start
    return len(text)


_SENTENCE_END = frozenset("。！？!?…\n")
_CLAUSE_END = frozenset('，,；;：:～~()（）「」『』【】《》〈〉[]"“”|/')
# What a view shows otherwise than a repaired text: the above, and as a space every tab, surrogate and space.
_OTHERWISE = re.compile(f"[{''.join(SHOWN_AS)}" + r"\t\xa0\u1680\u2000-\u200a\u202f\u205f\u3000\ud800-\udfff]")
MAX_REPEAT = 2
"""Runs of a Han character or mark longer than this are shown once: 超超超超好吃 is 超好吃, 好好吃 stays."""
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
        """View spans as an element of the stored text: surface and merged, ordered spans. What `repair` takes out of a
        word is no part of it: a zero-width character, a blank between spaced-out characters, a tag.
        """
        if len(spans) == 1:  # nearly all of them
            start, end = span = self.to_source(spans[0])
            if end - start == spans[0][1] - spans[0][0]:
                return Element(source[start:end], (span,))
        return Element.at(source, merge_spans(part for span in spans for part in self._seen_parts(span, source)))

    def _seen_parts(self, span: Span, source: str) -> Iterator[Span]:
        """The stored code points of a view span, without gaps that hold nothing to see."""
        first, last = span
        for at in range(first, last - 1):
            gap = source[self.ends[at] : self.starts[at + 1]]
            if gap and not repair(gap).text.strip():
                yield self.to_source((first, at + 1))
                first = at + 1
        yield self.to_source((first, last))


@dataclass(frozen=True, slots=True)
class Clause:
    """A clause of a view: [start, end) without its boundary marks, and the number of the sentence it belongs to."""

    start: int
    end: int
    sentence: int


def view(text: str, variants: Variants | None = None, script: Script | None = None) -> View:
    """Normalise `text` for reading by rules and models.

    Repaired (`repair`), without translations and owners' replies (`read_part`), width folded, runs of one character
    shortened, Simplified and mixed texts in Traditional script, spelling variants (same length, from
    lexicons/variants.tsv) made one.
    """
    repaired, places = _read_places(text)
    shown = repaired.text if isinstance(places, range) else "".join(map(repaired.text.__getitem__, places))
    shown = _OTHERWISE.sub(lambda match: SHOWN_AS.get(match[0], " "), shown)
    if INVISIBLE.search(shown):
        places = [at for at, char in zip(places, shown, strict=True) if not INVISIBLE.match(char)]
        shown = INVISIBLE.sub("", shown)
    if _RUN.search(shown):
        places = _without_runs(shown, places)
        shown = _RUN.sub(r"\1", shown)
    if (script or script_of(shown)) in ("simplified", "mixed"):
        shown = to_traditional(shown)
    if variants is not None:
        shown = variants.canonical(shown)
    assert len(shown) == len(places), f"view of {len(places)} characters became {len(shown)}"
    starts, ends = repaired.starts, repaired.ends
    if isinstance(places, range):
        return View(shown, tuple(starts), tuple(ends))
    return View(shown, tuple([starts[at] for at in places]), tuple([ends[at] for at in places]))


def read_part(text: str) -> str:
    """What is read of a text: repaired, without translations and owners' replies."""
    repaired, places = _read_places(text)
    return repaired.text if isinstance(places, range) else "".join(map(repaired.text.__getitem__, places))


def repaired_view(text: str) -> View:
    """A text as its writer saw it (`repair`), without blanks around it and otherwise as it is: what a release shows."""
    shown, starts, ends = repair(text)
    kept = slice(len(shown) - len(shown.lstrip()), len(shown.rstrip()))
    return View(shown[kept], tuple(starts[kept]), tuple(ends[kept]))


def _read_places(text: str) -> tuple[Repaired, Sequence[int]]:
    """The repaired text, and the places of its characters that are read. A blank or mark behind a part parts it."""
    repaired = repair(text)
    spans = find_read_spans(repaired.text)
    if spans == ((0, len(repaired.text)),):
        return repaired, range(len(repaired.text))
    places = [at for start, end in spans for at in range(start, end + 1)]
    return repaired, places[:-1]


def _without_runs(text: str, places: Sequence[int]) -> list[int]:
    """The places of a text's characters, of a run only its first one's."""
    out: list[int] = []
    at = 0
    for run in _RUN.finditer(text):
        out += places[at : run.start() + 1]
        at = run.end()
    return [*out, *places[at:]]


def _boundary(text: str, i: int) -> Literal["", "clause", "sentence"]:
    """What the character at i ends. A space ends a clause only beside a Han character or a mark: `cp 值` stays."""
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


def hashed(text: str, size: int = 16) -> bytes:
    """So many bytes that tell texts apart where all of them would fill the memory; lone surrogates are hashed too."""
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
