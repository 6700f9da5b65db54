"""Whether an opinion is taken out of what is stated: wished, supposed, past or hearsay.

In: the constituents of a clause, the place of an opinion, and the compiled rules. Out: yes or no. Pure.
"""

from __future__ import annotations

from collections.abc import Sequence

from builder.engine.compiled import Compiled
from builder.engine.constituents import Constituent
from builder.engine.symbols import DE, IRREALIS, JOINERS, OPINION, PREDICATES, symbol_set

_OVER = JOINERS | symbol_set("PART DE")
"""What may stand between an opinion and the word that makes a condition of it."""
_OVER_OBJECT = _OVER | symbol_set("ASPECT NOUN BLOCKED ADJ VERB NUM PRON")
"""The same, with what one likes (喜歡 甜食 的話)."""
_GRANTED = symbol_set("PART DE ASPECT NOUN BLOCKED")
"""Between an opinion that is granted only and the word that says so (再 便宜 的 外套 也 不買)."""
PAST = "past"
"""Kind of irrealis.tsv that a word for the present ends."""
CONDITION = "condition"
"""Kind that a word for its conclusion ends."""


def is_unreal(clause: Sequence[Constituent], index: int, rules: Compiled) -> bool:
    """Whether a marker before opinion `index` takes it out of what is stated.

    A word of contrast ends the marker's reach: 以為會很乾但超多汁. A wish ends with its predicate, where another aspect
    follows that (希望座位多一點餐點很好吃), and the past with a word for the present. A condition
    ends where its conclusion begins, in packs that say so.
    """
    if rules.closing and _is_closed(clause, index, rules.closing):
        return True
    if index and clause[index - 1].word in rules.conceding and _is_conceded(clause, index, rules):
        return True
    if rules.states and _is_passed_into(clause, index, rules):
        return True
    named = judged = present = concluded = False
    after = ""
    for item in reversed(clause[:index]):
        if item.symbol == IRREALIS and (kind := rules.lexicon.irrealis[item.word]) in rules.irrealis:
            ended = (judged and kind in rules.short) or (present and kind == PAST) or (concluded and kind == CONDITION)
            if not ended:
                return True
        elif item.word in rules.contrast:
            return False
        elif item.symbol in PREDICATES and after != DE:
            judged = judged or named
        named = named or item.term is not None
        present = present or item.word in rules.present
        concluded = concluded or item.word in rules.concluding
        after = item.symbol
    return False


def _is_conceded(clause: Sequence[Constituent], index: int, rules: Compiled) -> bool:
    """再 好看 也 不去, 再 便宜 的 外套 也 不買, 就算 再 好看: whether opinion `index` and what it describes are granted
    only.
    """
    behind = next((item for item in clause[index + 1 :] if item.symbol not in _GRANTED), None)
    if behind is None:
        return any(item.word in rules.granting for item in clause[:index])
    return behind.word in rules.conceded


def _is_passed_into(clause: Sequence[Constituent], index: int, rules: Compiled) -> bool:
    """雞排 冷掉 也 好吃: whether opinion `index` is a state in which what is judged behind it holds."""
    phrase = clause[index].phrase
    if phrase is None or phrase.kinds or not phrase.entry.category.startswith(rules.states):
        return False
    behind = clause[index + 1 :]
    return bool(behind) and behind[0].word in rules.sequels and any(item.symbol == OPINION for item in behind)


def _is_closed(clause: Sequence[Constituent], index: int, closing: frozenset[str]) -> bool:
    """服務好 的話, 喜歡甜食 的話: whether the words behind opinion `index` make a condition of it.

    湯很好喝麵 的話普通: what is named behind a judged aspect begins a statement of its own.
    """
    over = _OVER if any(item.term is not None for item in clause[:index]) else _OVER_OBJECT
    joined = False
    for item in clause[index + 1 :]:
        if item.word in closing:
            return True
        if item.symbol not in over and not (joined and item.symbol == OPINION):
            return False
        joined = item.symbol in JOINERS
    return False
