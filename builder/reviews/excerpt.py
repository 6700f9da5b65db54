"""Which part of a text is read: the guest's own words, once. Pure.

In: a repaired text. Out: its spans without a machine's translation beside the original, as map and travel services
deliver them, and without the owner's reply behind it. Of original and translation the original is read, unless it is
in another language. Rules, duplicates, near-duplicates, splits and `verify` all read this part.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from builder.core.records import Span
from builder.reviews.script import HAN, find_other_language

_SHARE = 0.5
"""An original has so many Han characters for each of its translation, or it is in another language."""
_NO_LETTER = re.compile(r"[\W_]+")

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
    r"(?:[業业]主|商[家戶户]|店[家主東东方長长]|老[闆板][娘]?|掌[櫃柜]|[經经]理|[業业]者|餐[廳厅]|[飯饭酒]店|旅[館馆]|民宿|房[東东]"
    r"|[門门]店|官方|[賣卖]家|管理(?:方|者|層|层|[員员])|客服|[負负][責责]人|品牌方?|小[編编])"
)
_OWNER_LATIN = r"(?:the )?(?:owner|management|manager|host|property|restaurant|hotel|business|seller)"
_REPLY = (
    rf"(?:(?:[來来]自)?{_OWNER} ?的?(?:回[應应覆复復]|答[覆复復]|解[釋释])"
    rf"|(?:response|reply|comment) (?:from|by) {_OWNER_LATIN}|{_OWNER_LATIN}(?:['’]?s)? (?:response|reply)"
    r"|オーナーからの返信)"
)
_AGO = (
    r"(?:\d{1,3} ?(?:[個个]?[年月日天週周]|小?[時时]|分[鐘钟])之?前(?!的)"
    r"|(?:an?|\d{1,3}) (?:year|month|week|day|hour)s? ago)"
)
_WHEN = rf"(?:[(（]?(?:{_AGO}|\d{{2,4}}[年/.-][\d年月日/.:時时分 -]{{1,20}}|[剛刚]{{2}}|[昨今]天)[)）]?)"
_GREETING = (
    r"(?:[親亲][，,～~!！\s愛爱]|您|你好|[謝谢感]|尊敬|敬[愛爱]|(?:非常|十分|很|真的)?(?:抱歉|感[謝谢]|[對对]不[起住])|哈[囉啰]"
    r"|各位|hi\b|hello|dear|thank|sorry)"
)
_GREETS = re.compile(_GREETING, re.IGNORECASE)
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
    """The spans of the original, each thing once, and those of the translation. What stands before any mark is
    original.
    """
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
        out.setdefault(_NO_LETTER.sub("", text[start:end]).lower(), (start, end))
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
        if is_greeting or text[:start].strip():
            return start
    return len(text)
