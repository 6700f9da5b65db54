"""Comparisons: what something is held against is no aspect.

In: the constituents of a clause. Out: the clause without what is only compared with. Pure.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field

from builder.engine.constituents import ATTRIBUTES, Constituent
from builder.engine.symbols import (
    ADJ,
    ASPECT,
    BLOCKED,
    BUT,
    DE,
    DEG,
    IRREALIS,
    NOMINALS,
    NOUN,
)


@dataclass(frozen=True, slots=True)
class ComparisonRule:
    """Parameters of a rule of kind `comparison`.

    `standards` and, before a word of `sameness`, `companions`: words before what an aspect is compared with (比 雞排,
    跟 麻糬 一樣). `distances`: those of them that open what is said of a place of the classes `locations` (離 車站
    很近; not 離 高檔 的 餐廳 還 很遠). `common`: words for the ordinary, which judge nothing behind those (比 一般 的
    店). `here`: first characters of what points at this place (比 這家 的 價格 高). `earlier`: times that a thing is
    held against, and not what is named behind them (比起 之前 服務 更好). `likening`: those of `companions` that liken
    two things in a clause that judges nothing (控肉 像 紅燒肉), of which the first may be unsaid behind a degree word
    or one of `seeming` (吃起來 像 紅燒肉). `comparatives`: degree words that hold a thing against the one named right
    behind them (較 午餐 划算). `cues`: the words without one of which `bar_standards` has nothing to do.
    """

    standards: frozenset[str] = frozenset()
    companions: frozenset[str] = frozenset()
    distances: frozenset[str] = frozenset()
    locations: tuple[str, ...] = ()
    common: frozenset[str] = frozenset()
    sameness: tuple[str, ...] = ()
    here: tuple[str, ...] = ()
    earlier: frozenset[str] = frozenset()
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
            "EARLIER": self.earlier,
        }


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
