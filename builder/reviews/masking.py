"""What a release must not show, masked with an offset map: contact details, addresses, and names of people and places.

In: a stored text and the names of its place. Out: `Masked`, the text with [電話] [信箱] [網址] [帳號] [地址] [人名]
[店名]. They stand for phone numbers, e-mail addresses, URLs, handles, addresses, people's names and the place's own.
Its `to_masked` moves spans of the stored text. Masking goes on until nothing more is found, so that masking a masked
text changes nothing.

Addresses are like 台中市西區公益路68號2樓, 延吉街137巷, 葵花園二區6號樓. In: a text of Simplified script. Out: spans. A
pattern finds the road and what is behind it. A dictionary finds where the address begins, so that no district and no
road is cut (位於中和區景平路634號).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Literal

from builder.core.records import Span
from builder.reviews import person_names, place_names
from builder.reviews.place_names import tagged
from builder.reviews.script import converter

# ---- Addresses

_NUMBER = "[0-9一二三四五六七八九十百]{1,5}"
_ROAD = "(?:大?道(?<![味知地厚公力渠管跑霸人茶门报频]道)|大?[路街])"
_HOUSE = rf"{_NUMBER} (?:[-之~]{_NUMBER})? 号 (?!出入?口|口|[线门]) (?:楼(?![上下]))?"
_BLOCK = "(?:[A-Za-z]-?[0-9]{0,3}|[0-9]{1,3}) [幢栋]"
_HAN = "[\u4e00-\u9fff]"
_TAIL = re.compile(
    rf"""(?:
    {_ROAD} [东西南北中]? \s? (?:{_NUMBER}段)? \s? (?:
        (?:{_NUMBER}[巷弄]\s?)* {_HOUSE} (?:之{_NUMBER})? (?:[,，]?\s?{_NUMBER}楼)?
      | (?:{_NUMBER}[巷弄])+ )
  | {_ROAD} (?:{_HAN}{{1,4}}段)? (?:[东西南北]侧)? {_HAN}{{0,6}} {_BLOCK} (?:{_HOUSE}店?)?
  | (?:[0-9一二三四五六七八九十]区|小区|新村|花园) {_NUMBER} 号楼
  | [巷弄] {_NUMBER} 号 (?!出入?口|口|线)
    )""",
    re.VERBOSE,
)
_NUMBERED = re.compile("[号巷弄幢栋]")
"""What every address has: most texts have none."""
_NAMED = re.compile(f"{_HAN}{{0,24}}$")
_RUN = re.compile(f"^{_HAN}*")
_BARE = re.compile("[东西南北中]?[大路街道巷弄区小新村花园一二三四五六七八九十]{0,24}$")
"""What a road's or a block's name ends in."""
_UNITS = tuple("省市县区乡镇村里州")
_PLACE_TAGS = frozenset(("ns", "nz", "nr", "nrt", "nrfg", "m"))
_BEFORE = re.compile("[这那哪条]|[在到往去从的是有近来过位置离]$|(?:就|都|也|还)[在是]")
"""Words that stand before an address."""


def address_spans(text: str) -> list[Span]:
    if not _NUMBERED.search(text):
        return []
    return [
        (start, match.end())
        for match in _TAIL.finditer(text)
        if (start := _beginning(text, match.start(), match[0])) < match.start()
    ]


def _beginning(text: str, at: int, tail: str) -> int:
    """Where the address begins whose road or block ends at `at`; `at` itself where it has no name."""
    named = _NAMED.search(text, 0, at)
    assert named is not None, "it may be empty"
    start = at
    words: list[tuple[int, str, str]] = []
    place = named.start()
    for word, tag in tagged(named[0] + _RUN.findall(tail)[0][:2]):
        if place < at:
            words.append((place, word, tag))
        place += len(word)
    while words:
        begin, word, tag = words.pop()
        unfinished = len(_BARE.sub("", text[start:at])) < 2 or text[start] in _UNITS
        part = tag in _PLACE_TAGS or word.endswith(_UNITS) or bool(words and words[-1][1].endswith(_UNITS))
        if _BEFORE.match(word) or not (unfinished or part):
            break
        start = begin
    return start if _BARE.sub("", text[start:at]) else at


# ---- Masking

Kind = Literal["url", "email", "handle", "phone", "address", "person", "place"]
REPLACEMENTS: dict[Kind, str] = {
    "url": "[網址]",
    "email": "[信箱]",
    "handle": "[帳號]",
    "phone": "[電話]",
    "address": "[地址]",
    "person": "[人名]",
    "place": "[店名]",
}
NAMES: frozenset[Kind] = frozenset(("person", "place"))
"""What a review may judge: an opinion about what has a masked name is still an opinion about something."""
Mask = tuple[int, int, Kind]
"""Half-open [start, end) in the stored text, and what stood there."""


_NOUN = re.compile(r"(?!的)[^\W_](?:.*[^\W_])?")
"""What stands beside a name without the marks between them."""


@dataclass(frozen=True, slots=True)
class Masked:
    """A masked text; `masks` are ordered and disjoint."""

    text: str
    masks: tuple[Mask, ...]

    def to_masked(self, span: Span) -> Span | None:
        """Where a span of the stored text stands in the masked one; None if a mask covers part of it."""
        start, end = span
        shift = 0
        for mask_start, mask_end, kind in self.masks:
            if mask_end <= start:
                shift += len(REPLACEMENTS[kind]) - (mask_end - mask_start)
            elif mask_start < end:
                return None
        return start + shift, end + shift

    def judged(self, span: Span) -> Span | None:
        """The same for who or what is judged: a mask of a place's name in it, or over a part of it, belongs to it
        whole; of a person's name, what stands beside it in the span is judged, or the role before it. None where
        nothing is, and for other masks.
        """
        start, end = span
        for mask_start, mask_end, kind in self.masks:
            if mask_start < end and start < mask_end:
                if kind not in NAMES:
                    return None
                start, end = min(start, mask_start), max(end, mask_end)
        before = after = 0
        for mask_start, mask_end, kind in self.masks:
            longer = len(REPLACEMENTS[kind]) - (mask_end - mask_start)
            before += longer if mask_end <= start else 0
            after += longer if mask_end <= end else 0
        return self._without_person(start + before, end + after)

    def _without_person(self, start: int, end: int) -> Span | None:
        name = REPLACEMENTS["person"]
        first, last = self.text.find(name, start, end), self.text.rfind(name, start, end)
        if first < 0:
            return start, end
        for left, right in ((start, first), (last + len(name), end)):
            if beside := _NOUN.search(self.text, left, right):
                return beside.span()
        return person_names.role_before(self.text[:first])

    def in_script(self, convert: Callable[[str], str]) -> str:
        """The masked text with `convert`, which keeps lengths, applied to all but masks, which stay."""
        parts: list[str] = []
        at = shift = 0
        for start, end, kind in self.masks:
            parts += convert(self.text[at : start + shift]), REPLACEMENTS[kind]
            at = start + shift + len(REPLACEMENTS[kind])
            shift += len(REPLACEMENTS[kind]) - (end - start)
        return "".join([*parts, convert(self.text[at:])])


def mask(text: str, names: Sequence[str] = ()) -> Masked:
    """Mask `text`; `names` are what its place is called."""
    place = _place_pattern(tuple(names))
    masks: list[Mask] = []
    while True:
        masked = Masked(_replaced(text, masks), tuple(masks))
        new_masks = _find(masked.text, place)
        if not new_masks:
            return masked
        masks = sorted([*masks, *((*_to_source(masks, (start, end)), kind) for start, end, kind in new_masks)])


def worded(text: str) -> str:
    """A masked text of the same length with letters where masks stand: a mask is read as the word that it hides."""
    return ANY_MASK.sub(lambda token: "名" * len(token[0]), text)


def _replaced(text: str, masks: Sequence[Mask]) -> str:
    parts: list[str] = []
    at = 0
    for start, end, kind in masks:
        parts += text[at:start], REPLACEMENTS[kind]
        at = end
    return "".join([*parts, text[at:]])


def _to_source(masks: Sequence[Mask], span: Span) -> Span:
    """The stored code points of a span of the masked text that touches no mask."""
    start, end = span
    shift = 0
    for mask_start, mask_end, kind in masks:
        if mask_start + shift >= end:
            break
        shift += len(REPLACEMENTS[kind]) - (mask_end - mask_start)
    return start - shift, end - shift


# Finding: all patterns read a copy of the same length. In it full-width letters and digits are ASCII, and what is
# masked is blotted out.

_BLOT = "\ufffc"
ANY_MASK = re.compile("|".join(map(re.escape, REPLACEMENTS.values())))
# Full-width ，！？：；（） stay: they end a URL, which their ASCII twins may not.
_ASCII = {
    code: code - 0xFEE0 for code in range(0xFF01, 0xFF5F) if chr(code).isalnum() or chr(code) in "＠．／－＿＋＃％＆＝"
} | {0x3000: 0x20}
_WIDE = re.compile(f"[{''.join(map(chr, _ASCII))}]")


def _find(text: str, place: re.Pattern[str] | None) -> list[Mask]:
    """One pass: each kind reads what the kinds before it left."""
    shown = text.translate(_ASCII) if _WIDE.search(text) else text
    shown = ANY_MASK.sub(lambda token: _BLOT * len(token[0]), shown)
    masks: list[Mask] = []
    for kind, pattern in _PATTERNS.items():
        if not _NEEDED[kind].search(shown):
            continue
        spans = [span for match in pattern.finditer(shown) if (span := _span_to_mask(match, kind))]
        masks += [(start, end, kind) for start, end in spans]
        shown = _blotted(shown, spans)
    shown = converter("t2s")(shown)  # of the same length: what is found in one script is found in the other
    roads = address_spans(shown)
    shown = _blotted(shown, roads)
    own = place_names.spans(shown, place) if place else []
    shown = _blotted(shown, own)
    people = person_names.spans(shown)
    shown = _blotted(shown, people)
    announced = _place_pattern(tuple(dict.fromkeys(place_names.announced(shown))))
    others = place_names.spans(shown, announced) if announced else []
    masks += [(start, end, "address") for start, end in roads]
    masks += [(start, end, "place") for start, end in own + others]
    masks += [(start, end, "person") for start, end in people]
    return masks


def _span_to_mask(match: re.Match[str], kind: Kind) -> Span | None:
    """The span to mask: the named group where a cue (`line id:`) stays readable, less the mark that ends a sentence."""
    start, end = match.span(match.lastgroup or 0)
    if kind == "url":
        end = start + len(match.string[start:end].rstrip(".,;:!?()[]{}'\"*~"))
    return (start, end) if start < end else None


def _blotted(text: str, spans: Sequence[Span]) -> str:
    for start, end in spans:
        text = text[:start] + _BLOT * (end - start) + text[end:]
    return text


_LABEL = r"[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?"
_SITES = r"""goo\.gl|maps\.app\.goo\.gl|bit\.ly|reurl\.cc|lihi\d*\.(?:cc|io|tv|me)|pse\.is|g\.page|g\.co
    |fb\.(?:me|com|watch)|line\.me|lin\.ee|linktr\.ee|youtu\.be|t\.me|wa\.me|m\.me|ig\.me|t\.cn|t\.co|ppt\.cc
    |is\.gd|cutt\.ly|ow\.ly|rb\.gy|shope\.ee|s\.id|instagr\.am|portaly\.cc|inline\.app|dpurl\.cn|url\.cn
    |w\.url\.cn|xhslink\.com"""
_URL = rf"""
    (?:https?|ftp) \s? [:：] (?://|\s//) [!\#-;=?-~]+
  | (?<![a-z0-9@_.-]) www\. {_LABEL} (?:\.{_LABEL})+ (?: [:/?\#][!\#-;=?-~]* )?
  | (?<![a-z0-9@_.-]) (?:{_SITES}) / [!\#-;=?-~]+
  | (?<![a-z0-9@_.-]) (?:{_LABEL}\.)+ (?:com|net|org|edu|gov|tw|hk|cn|app|shop|info|biz) (?:\.(?:tw|hk|cn))?
      (?![a-z0-9@_-]|\.[a-z0-9]) (?: [:/?\#][!\#-;=?-~]* )?
"""
_MAILERS = r"(?:gmail|yahoo|hotmail|outlook|icloud|msn|live|qq|163|126|pchome|hinet)"
_EMAIL = rf"""
    (?<![a-z0-9._%+-]) [a-z0-9._%+-]++ @ (?:{_LABEL}\.)+ [a-z]{{2,24}} (?![a-z0-9])
  | (?<![a-z0-9._%+-]) [a-z0-9._%+-]++ [ ]? @ [ ]? {_MAILERS} (?:\.[a-z]{{2,3}}){{1,2}} (?![a-z0-9])
"""
# A handle has a letter (@199元 is a price). After a cue without a colon it has an underscore or an inner dot: IG story
# is none.
_NAME = r"(?=[0-9_.-]*[a-z]) [a-z0-9_] (?:[a-z0-9_.-]{0,38}[a-z0-9_])"
_CUE = r"""(?<![a-z]) (?:line|賴|ig|instagram|insta|fb|facebook|臉書|脸书|粉專|wechat|we\s?chat|微信|weixin|vx
    |telegram|tg|threads|twitter|推特|小紅書|小红书|whatsapp|id)"""
_HANDLE = rf"""
    (?<![a-z0-9._%+@-]) @ (?!\d{{1,2}}[ap]m) {_NAME} (?!@)
  | {_CUE} \s? (?:官方)? (?:的)? \s? (?: id|帳號|帐号|账号|號|号|搜尋|搜索|搜|account )?
      \s? [:：@] \s? (?P<a> @? (?: {_NAME} | \d{{5,20}} ) ) (?![a-z0-9@])
  | (?<![a-z]) (?:line|賴|ig|fb|微信|wechat|vx|telegram|qq) \s? (?:的)? \s? (?: id|帳號|帐号|账号|號|号 )
      \s? (?:是|為|为|叫)? \s? (?P<b> @? (?: {_NAME} | \d{{5,20}} ) ) (?![a-z0-9@])
  | (?<![a-z]) qq \s? (?:號碼?|号码?)? \s? [:：] \s? (?P<e> \d{{5,11}} ) (?!\d)  # else QQ is a smile, or chewy
  | 加 (?:我)? (?:的)? (?:line|賴|微信|wechat|vx) \s? (?P<d> (?=[a-z.-]*[0-9_]) {_NAME} ) (?![a-z0-9@])
  | {_CUE} (?:搜尋|搜索|搜|追蹤|追踪)? \s (?P<c> @? (?=[a-z0-9.]*_) {_NAME} ) (?![a-z0-9@])
  | (?<![a-z0-9_.@/-])  # food_lover without a cue
      (?P<f> (?=[a-z0-9._]*[a-z]{{3}}) [a-z0-9][a-z0-9.]+ (?:_+[a-z0-9.]+)+ ) (?![a-z0-9_@])
"""
_S = r"[ .\-\u00a0\u2010-\u2015\u200b\u2060]{1,2}"
_EXTENSION = r"(?: \s? (?:\#|轉|转|分機|分机|ext\.?) \s? \d{1,5} (?![\d-]) )?"
_TIMES = r"(?: [01]\d[0-5]\d | 2[0-4][0-5]\d )"
_PHONE = rf"""
    (?<!\d) (?:
        \+ \d{{1,3}} (?:{_S})? (?: [(（]0[)）] )? \d (?: (?:{_S})? \d ){{6,11}}
      | 00 (?:886|86|852|853|81|82|65|1) (?:{_S})? \d (?: (?:{_S})? \d ){{6,10}}
      | 886 {_S} \d (?: (?:{_S})? \d ){{7,9}} | 8869\d{{8}} | 861[3-9]\d{{9}}
      | 09\d{{2}} (?:{_S})? \d{{3}} (?:{_S})? \d{{3}} | 09\d{{2}} {_S} \d{{2}} {_S} \d{{2}} {_S} \d{{2}}
      | 09\d{{2}} {_S} \d{{2}} {_S} \d{{4}} | 0 {_S} 9 (?: {_S} \d ){{8}}
      | (?<!/) 09 {_S} (?! {_TIMES} {_S} {_TIMES} ) \d{{4}} (?:{_S})? \d{{4}}
      | [(（]\s?09\d{{2}}\s?[)）] (?:{_S})? \d{{3}} (?:{_S})? \d{{3}}
      | (?: [(（]\s?0[24]\s?[)）] | 0[24] ) (?:{_S})? [2-8]\d{{3}} (?:{_S})? \d{{4}}
      | (?: [(（]\s?0[3-8]\s?[)）] | 0[3-8] ) (?:{_S})? [2-9]\d{{2}} (?:{_S})? \d{{4}}
      | (?: [(（]\s?0[3-8]\s?[)）] | 0[3-8] ) {_S} [2-9]\d{{2}} {_S} \d{{2}} {_S} \d{{2}}
      | (?: [(（]\s?0(?:37|49|82|89|826|836)\s?[)）] | 0(?:37|49|82|89|826|836) ) (?:{_S})?
          [2-9]\d{{1,2}} (?:{_S})? \d{{3,4}}
      | 080[09] (?:{_S})? \d{{3}} (?:{_S})? \d{{3}} | 080[09] {_S} \d{{2}} {_S} \d{{2}} {_S} \d{{2}}
      | (?: 86 (?:{_S})? )? 1[3-9]\d (?:{_S})? \d{{4}} (?:{_S})? \d{{4}}
      | (?: [(（]0(?:10|2\d|[3-9]\d{{2}})[)）] (?:{_S})? | 0(?:10|2\d|[3-9]\d{{2}}) {_S} ) [2-8]\d{{6,7}}
      | [48]00 -? \d{{3}} -? \d{{4}} | [48]00 - \d{{4}} - \d{{3}}
    ) (?!\d) {_EXTENSION}
  | (?: 電話|电话|手機|手机|專線|专线|傳真|传真|(?<![a-z])tel|(?<![a-z])fax|(?<![a-z])phone
      |☎\ufe0f?|\U0001f4de|\U0001f4f1 )
    \s? (?:號碼|号码)? \s? (?:是|為|为)? \s? [:：.]? \s?
    (?! {_TIMES} \s? [-~] \s? {_TIMES} (?!\d) ) (?P<number> \d (?: (?:{_S})? \d ){{5,11}} ) (?!\d)
"""


def _compiled(pattern: str) -> re.Pattern[str]:
    return re.compile(pattern, re.VERBOSE | re.IGNORECASE | re.ASCII)


_NEEDED: dict[Kind, re.Pattern[str]] = {
    "email": re.compile("@"),
    "url": re.compile("[.:：]"),
    "handle": re.compile("[@_:：號号加]|id", re.IGNORECASE),
    "phone": re.compile(r"(?:\d\D*){6}", re.ASCII),
}
"""What every match of a pattern has: most texts have none of it, and need no closer look."""
# In this order: an address would else be a domain and a handle, and `line id: 0912…` is a handle.
_PATTERNS: dict[Kind, re.Pattern[str]] = {
    "email": _compiled(_EMAIL),
    "url": _compiled(_URL),
    "handle": _compiled(_HANDLE),
    "phone": _compiled(_PHONE),
}
_place_pattern = lru_cache(maxsize=4_096)(place_names.pattern)
