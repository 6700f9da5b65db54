"""Whether an opinion is taken out of what is stated: wished, supposed, past or hearsay.

In: the constituents of a clause, the place of an opinion, and the compiled rules. Out: yes or no. Pure.
"""

from __future__ import annotations

from collections.abc import Sequence

from builder.engine.compiled import Compiled
from builder.engine.constituents import Constituent
from builder.engine.symbols import DE, IRREALIS, PREDICATES

PAST = "past"
"""Kind of irrealis.tsv that a word for the present ends."""


def is_unreal(clause: Sequence[Constituent], index: int, rules: Compiled) -> bool:
    """Whether a marker before opinion `index` takes it out of what is stated.

    A word of contrast ends the marker's reach: 以為會很乾但超多汁. A wish ends with its predicate, where another aspect
    follows that (希望座位多一點餐點很好吃), and the past with a word for the present.
    """
    named = judged = present = False
    after = ""
    for item in reversed(clause[:index]):
        if item.symbol == IRREALIS and (kind := rules.lexicon.irrealis[item.word]) in rules.irrealis:
            if not (judged and kind in rules.short) and not (present and kind == PAST):
                return True
        elif item.word in rules.contrast:
            return False
        elif item.symbol in PREDICATES and after != DE:
            judged = judged or named
        named = named or item.term is not None
        present = present or item.word in rules.present
        after = item.symbol
    return False
