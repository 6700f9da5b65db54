"""Addresses that stand in a review: 台中市西區公益路68號2樓, 延吉街137巷, 葵花園二區6號樓.

In: a text of Simplified script. Out: spans. A pattern finds the road and what is behind it; a dictionary finds where
the address begins, so that no district and no road is cut (位於中和區景平路634號).
"""

from __future__ import annotations

import re

from builder.core.records import Span
from builder.reviews.privacy.dictionary import tagged

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


def spans(text: str) -> list[Span]:
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
