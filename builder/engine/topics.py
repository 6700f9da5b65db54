"""What a clause leaves for the next one: the topic that may stay unsaid there, and the aspects that share an opinion.

In: the constituents of a clause and what was paired in it. Out: the `Topic` of the clauses behind it. Pure.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence

from builder.engine.compiled import Compiled
from builder.engine.constituents import THINGS, Constituent, Topic, is_kind, is_thing
from builder.engine.coordination import add_coordinated, is_gathered
from builder.engine.rows import EngineClasses
from builder.engine.symbols import DE, NEG, symbol_set

_REACH = 4
"""Units before an aspect among which the word that adds it stands (加 了 一 顆 梅子)."""
_LISTING = symbol_set("ASPECT LIST CONJ")
"""Units of a clause that is a list."""
_LEAST = 2
"""Aspects of a list."""


def resume_list(
    clause: Sequence[Constituent], topic: Topic | None, begun: tuple[Constituent, ...], rules: Compiled
) -> Topic | None:
    """餐點，服務，環境，都滿分: the topic of a clause that opens with a word that gathers, over adverbs (真的 都),
    is the list before it.
    """
    if topic is None or len(begun) < _LEAST or not is_gathered(clause, -1, rules.words, over_commas=True):
        return topic
    return topic._replace(aspects=(begun[-1], *begun[:-1]), is_list=True)


def next_topic(
    clause: Sequence[Constituent], paired: list[Constituent], topic: Topic | None, label: bool, rules: Compiled
) -> Topic | None:
    """What the next clause may leave unsaid: the aspect paired last, else the last one named, else the old topic.

    Crowds and queues are no topic (環境 不錯，人 很多，很 有 氣氛), nor is what a clause denies. `label`:
    whether a colon ends the clause.
    """
    named = [item for item in clause if item.term is not None and not rules.words.holds("PASSING", item.word)]
    paired = [item for item in paired if not rules.words.holds("PASSING", item.word)]
    if not named and not paired:
        return topic and topic._replace(is_list=False)
    if topic and not named and not label and len(topic.aspects) > 1 and paired[-1] in topic.aspects:
        return topic._replace(named=False, is_list=False)
    if topic and named and _only_adds(clause, named, topic, rules.words):
        return topic
    if topic and named and not paired:  # 沒有 太多 香料, 不 適合 煮 湯
        opening = (item for item in clause if item.end <= named[0].start)
        if any(item.symbol == NEG or (item.phrase is not None and item.phrase.negators) for item in opening):
            return topic
    label = label and clause[-1].term is not None  # not 老闆說：
    last = paired[-1] if paired else _find_subject(clause, named, rules.joining)
    aspects = add_coordinated(clause, (last,), rules.words)
    is_list = len(aspects) > 1 and clause[0] is named[0] and all(item.symbol in _LISTING for item in clause)
    if is_thing(last):
        return Topic(aspects, not paired, None, is_list, label)
    things = [item for item in named if item.start < last.start and is_thing(item)]
    before = topic and topic.thing
    return Topic(aspects, not paired, things[-1] if things else before, is_list, label)


def _only_adds(clause: Sequence[Constituent], named: Sequence[Constituent], topic: Topic, words: EngineClasses) -> bool:
    """牛肉湯來了，裡面加了薑絲: whether a clause only names what goes into the thing that was named before it, and at
    most tells how much of it there is (包了滿滿的豆芽).
    """
    about, first = topic.aspects[-1], named[0]
    if about.own_term.role not in THINGS or first.own_term.role not in THINGS:
        return False
    if any(item.phrase and not words.holds("ADDED", item.word, item.entry) for item in clause):
        return False
    at = next(i for i, item in enumerate(clause) if item is first)
    before = clause[max(0, at - _REACH) : at]
    if any(item.symbol == DE and (not i or before[i - 1].phrase is None) for i, item in enumerate(before)):
        return False
    return any(words.holds("ADDING", item.word) for item in before)


def _find_subject(clause: Sequence[Constituent], named: Sequence[Constituent], joining: Collection[str]) -> Constituent:
    """Of the aspects of a clause that judges nothing the one it is about: 豬排飯 of 豬排飯有高麗菜, else the last."""
    first, last = named[0], named[-1]
    if is_kind(first) or not (first.term and first.term.role in THINGS):
        return last
    return first if any(item.word in joining and first.end <= item.start < last.start for item in clause) else last
