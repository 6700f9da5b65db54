"""Comparisons: what something is held against is no aspect, and a negator before it denies the opinion (沒有 王品 的
好吃, 不如 老店 好).

In: the units or constituents of a clause and the place of an opinion. Out: where the negator stands, whether it
denies the opinion, and the clause without what is only compared with. Pure.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise

from builder.engine.constituents import ATTRIBUTES, THINGS, Constituent
from builder.engine.symbols import (
    ADJ,
    ASPECT,
    BLOCKED,
    BUT,
    COP,
    DE,
    DE_WORDS,
    DEG,
    IRREALIS,
    NEG,
    NOMINALS,
    NOUN,
    OPINION,
    THAN,
    VERB,
    symbol_set,
)
from builder.engine.vocabulary import Unit, entry_of
from builder.language.lexicon.resources import Lexicon

_STANDARD_UNITS = symbol_set("NOUN ASPECT BLOCKED PRON NUM DE DEGREE_DE ADJ PREP VERB COP THAN ADV")
"""What may stand between a negator and the opinion that is measured by it."""
_PREDICATES = symbol_set("VERB COP")
_OWNERS = symbol_set("NOUN BLOCKED PRON")
"""Before 的: whose dish it is (路邊 的 煎餅)."""


@dataclass(frozen=True, slots=True)
class ComparisonRule:
    """Parameters of a rule of kind `comparison`.

    `standards` and, before a word of `sameness`, `companions`: words before what an aspect is compared with (比 雞排,
    跟 麻糬 一樣). `distances`: those of them that open what is said of a place of the classes `locations` (離 車站
    很近; not 離 高檔 的 餐廳 還 很遠). `common`: words for the ordinary, which judge nothing behind those (比 一般 的
    店). `inferior`: words that say that something is less than what follows (不如 老店 好); `denying`: last characters
    of the negators that deny so (沒有 老店 好); `measured`: categories of what they deny;
    `reach`: how many units may stand between.
    `standard_classes`: classes of what a dish may be measured by (沒有 隔壁 的 炸雞 好吃), `ingredient_classes`: of
    what it may only be free of. `here`: first characters of what points at this place (附近 沒有 這家 好吃),
    `elsewhere`: words that point at another one (沒有 那家 專門 賣 雞排 的 好吃). `earlier`: times that a thing is
    held against, and not what is named behind them (比起 之前 服務 更好), `onsite`: places where the same thing is
    had otherwise, behind a negator that begins with one of `lacking` (沒有 店裡 好吃). `likening`: those of
    `companions` that liken two things in a clause that judges nothing (控肉 像 紅燒肉), of which the first may be
    unsaid behind a degree word or one of `seeming` (吃起來 像 紅燒肉).
    `comparatives`: degree words that hold a thing against the one named right behind them (較 午餐 划算). `cues`: the
    words without one of which `bar_standards` has nothing to do.
    """

    standards: frozenset[str] = frozenset()
    companions: frozenset[str] = frozenset()
    distances: frozenset[str] = frozenset()
    locations: tuple[str, ...] = ()
    common: frozenset[str] = frozenset()
    sameness: tuple[str, ...] = ()
    inferior: tuple[str, ...] = ()
    denying: tuple[str, ...] = ()
    measured: tuple[str, ...] = ()
    reach: int = 0
    standard_classes: tuple[str, ...] = ()
    ingredient_classes: tuple[str, ...] = ()
    here: tuple[str, ...] = ()
    elsewhere: frozenset[str] = frozenset()
    earlier: frozenset[str] = frozenset()
    onsite: frozenset[str] = frozenset()
    lacking: tuple[str, ...] = ()
    comparatives: frozenset[str] = frozenset()
    likening: frozenset[str] = frozenset()
    seeming: frozenset[str] = frozenset()
    introducers: frozenset[str] = field(init=False)
    cues: frozenset[str] = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "introducers", self.standards | self.companions)
        object.__setattr__(self, "cues", self.introducers | self.comparatives)

    @property
    def classes(self) -> Mapping[str, Collection[str]]:
        """The classes of words that it shares with rules that match units."""
        likeness = [f"…{word}" for word in self.likening]
        return {
            "INTRODUCER": self.introducers,
            "ORDINARY": self.common,
            "COMPARING": self.comparatives,
            "LIKENESS": likeness,
            "LIKENING": self.likening,
            "COMPANION": self.companions,
            "SAME": [f"{word}…" for word in self.sameness],
            "HERE": [f"{word}…" for word in self.here],
        }


def find_denier(units: Sequence[Unit], k: int, taken: int, rule: ComparisonRule) -> int:
    """Index of the negator or word of being less before what opinion k is measured by; k if there is none.

    What it is measured by touches both (沒有 王品 的 好吃, 不如 老店 好). 附近 沒有 這家 好吃 praises this house, and
    別家 比不上 的 鮮甜 this sweetness.
    """
    at = k - 1
    while at >= 0 and k - at <= rule.reach and units[at].end == units[at + 1].start:
        word, symbol = units[at].word, units[at].symbol
        if symbol == OPINION and any(less in word for less in rule.inferior):
            owned = units[at + 1].symbol == DE and word.endswith(rule.inferior)
            return k if owned and at < k - 1 else at
        if symbol == NEG:
            return at if taken <= at < k - 1 else k
        known = symbol in _STANDARD_UNITS or word in rule.common or word in rule.earlier
        if not known or word.startswith(rule.here):
            break
        at -= 1
    return k


def is_denied(units: Sequence[Unit], at: int, k: int, lexicon: Lexicon, rule: ComparisonRule) -> bool:
    """Whether negator `at` denies opinion k by what stands between.

    不比 路邊攤 差, 沒有 一道 菜 好吃, 沒有 羊肉 的 羶味, 沒有 王品 的 好吃, 湯頭 沒 隔壁 那家 濃.
    """
    negator, between, entry = units[at].word, units[at + 1 : k], entry_of(units[k], lexicon)
    if entry.valence >= 5 and _holds_against_itself(units, at, k, rule):
        return True
    if not negator.endswith(rule.denying):
        return False
    if negator[-1] == "比" or between[0].symbol == THAN or between[0].word[0] == "一":
        return True
    if between[-1].word in rule.elsewhere and any(unit.symbol == ASPECT for unit in units[:at]):
        return all(unit.symbol != DE for unit in units[k + 1 : k + 2])  # 沒有 附近 便宜 的 停車場
    owned = between[-1].symbol in DE_WORDS
    if entry.valence < 5:
        return owned and units[k].word.lower() in lexicon.aspects
    return entry.category.startswith(rule.measured) and _names_a_standard(units, at, k, lexicon, rule)


def loses_quality(units: Sequence[Unit], at: int, k: int, lexicon: Lexicon, rule: ComparisonRule) -> bool:
    """沒有 以前 口感 好: whether the unit before opinion k names what was better at another time or place. It stays the
    aspect.
    """
    last = units[k - 1]
    if last.symbol != ASPECT or k - at < 2 or not _holds_against_itself(units, at, k, rule):
        return False
    return lexicon.role(last.word.lower()) in ATTRIBUTES


def _holds_against_itself(units: Sequence[Unit], at: int, k: int, rule: ComparisonRule) -> bool:
    """沒有 店裡 好吃, 沒有 第一次 吃 的 時候 驚艷: whether negator `at` holds the thing of opinion k against itself at
    another time or place.
    """
    negator, between = units[at].word, units[at + 1 : k]
    if units[k - 1].symbol == COP or not negator.startswith(rule.lacking):
        return False
    return negator.endswith(tuple(rule.earlier)) or any(
        u.word in rule.earlier or u.word in rule.onsite for u in between
    )


def _names_a_standard(units: Sequence[Unit], at: int, k: int, lexicon: Lexicon, rule: ComparisonRule) -> bool:
    """Whether a dish or a house stands between: 沒有 隔壁 的 好吃, and behind an aspect 沒 街邊 小店 好吃.

    沒有 骨頭 好吃, 沒有 香菜 的 滷肉飯 好吃, 沒有 冷氣 的 好 地方 are free of something.
    """
    between = units[at + 1 : k]
    owned = between[-1].symbol in DE_WORDS
    classes = [lexicon.aspects[unit.word.lower()].cls if unit.symbol == ASPECT else "" for unit in between]
    roles = [lexicon.classes.get(cls, "") for cls in classes]
    if between[0].word in rule.elsewhere and (owned or classes[-1].startswith(rule.standard_classes)):
        return True
    if between[0].symbol == VERB and any(unit.word == between[0].word for unit in units[:at]):  # 吃 鍋 沒 吃 麵 划算
        return True
    if any(unit.symbol in _PREDICATES for unit in (between[:-2] if owned else between)):
        return False
    if owned:
        attributive = k + 1 < len(units) and units[k + 1].symbol in NOMINALS and units[k + 1].start == units[k].end
        return not attributive and not any(cls.startswith(rule.ingredient_classes) for cls in classes)
    if any(unit.symbol == DE and roles[i] in THINGS | ATTRIBUTES for i, unit in enumerate(between[1:])):
        return False
    last = classes[-1]
    named = last.startswith(rule.standard_classes) and not last.startswith(rule.ingredient_classes)
    elsewhere = any(a.symbol in _OWNERS and b.symbol == DE for a, b in pairwise(between))
    return (between[-1].symbol == NOUN or named) and (elsewhere or any(unit.symbol == ASPECT for unit in units[:at]))


def bar_standards(clause: list[Constituent], rule: ComparisonRule) -> list[Constituent]:
    """The clause with what something is held against as no aspect: 像麻糬, 跟外面的牛肉麵一樣, 相較於豬排."""
    words = [item.phrase.entry.word if item.phrase else item.word for item in clause]  # 還不如 is 不如
    if rule.cues.isdisjoint(words) and rule.cues.isdisjoint([item.word for item in clause]):
        return clause  # nearly always
    introducers = [
        i
        for i, word in enumerate(words)
        if word in rule.introducers or (word in rule.comparatives and _compares_with_next(clause, i, rule))
    ]
    if not introducers:
        return clause
    out = list(clause)
    for i in introducers:
        end = _find_end_of_standard(out, i + 1, rule)
        alike = i > 0 and (words[i - 1] in rule.seeming or out[i - 1].symbol == DEG)
        named = alike or any(x.symbol == ASPECT for x in out[:i])
        likened = words[i] in rule.likening and end == len(out) and named
        same = end < len(out) and (out[end].word.startswith(rule.sameness) or words[end].startswith(rule.sameness))
        if words[i] in rule.companions and not (likened or same):
            continue
        if words[i] in rule.distances and not named and _is_location(out[i + 1 : end], rule):
            continue
        if end - i > 2 and out[i + 1].word in rule.earlier and out[i + 2].symbol == ASPECT:
            end = i + 2
        elif words[i] in rule.standards and _ends_with_attribute(out[i + 1 : end], rule):
            end -= 1
        for j in range(i + 1, end):
            if out[j].symbol in (ASPECT, NOUN):
                out[j] = out[j]._replace(symbol=BLOCKED, term=None)
            elif out[j].phrase:
                out[j] = out[j]._replace(symbol=ADJ, phrase=None)
            elif out[j].symbol == IRREALIS:  # 比 上次來 的 時候 好: the past is what it is held against
                out[j] = out[j]._replace(symbol=BLOCKED)
    return out


def _is_location(standard: Sequence[Constituent], rule: ComparisonRule) -> bool:
    """Whether a standard is a place that things are near to or far from, and nothing else."""
    return len(standard) == 1 and standard[0].term is not None and standard[0].term.cls in rule.locations


def _compares_with_next(clause: Sequence[Constituent], i: int, rule: ComparisonRule) -> bool:
    """價錢 較 夜市 牛排 貴, 餐點 較 一般 早午餐 貴: whether a degree word has nothing to strengthen but a name."""
    if not i:
        return False
    at = i + 2 if i + 1 < len(clause) and clause[i + 1].word in rule.common else i + 1
    return at < len(clause) and clause[at].symbol in NOMINALS


def _ends_with_attribute(between: Sequence[Constituent], rule: ComparisonRule) -> bool:
    """比 其他 家 的 價格 高: what is compared is the attribute, where no other aspect owns it.

    比 這家 的 價格 高 is said of another house.
    """
    aspects = [item for item in between if item.symbol == ASPECT]
    owned = len(between) > 1 and between[-1].symbol == ASPECT and len(aspects) == 1
    if owned and between[0].word.startswith(rule.here):
        return False
    return owned and aspects[0].term is not None and aspects[0].term.role in ATTRIBUTES | {"price"}


def _find_end_of_standard(clause: Sequence[Constituent], start: int, rule: ComparisonRule) -> int:
    """Where what something is held against ends: at the opinion that compares, at a word of sameness or a contrast.

    比 隔壁 那家 有名 的 店 好吃: an opinion before 的 and its noun is part of it where another opinion follows, and so
    is one that touches such an opinion. One that opens it is, before any noun (比 很多 店 好吃).
    """
    for j in range(start, len(clause)):
        if clause[j].symbol == BUT or clause[j].word.startswith(rule.sameness):
            return j
        if clause[j].phrase is None:
            continue
        at = j
        while at + 1 < len(clause) and clause[at + 1].phrase is not None:
            at += 1
        behind = clause[at + 1 :]
        ends = next((k for k, x in enumerate(behind) if x.phrase or x.word.startswith(rule.sameness)), None)
        opens = all(item.symbol == ADJ for item in clause[start:j])
        described = opens or (ends and behind[0].symbol == DE)
        if not described or all(item.symbol not in NOMINALS for item in behind[:ends]):
            return j
    return len(clause)
