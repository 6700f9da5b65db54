"""What an opinion holds of above all, named in the clause behind it: 都很好吃，尤其是湯.

In: the constituents of both clauses. Out: the aspects that the second one names. Pure.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence

from builder.engine.constituents import THINGS, Constituent
from builder.engine.symbols import symbol_set

_ENDING = symbol_set("PART CONJ ADV OPINION")
"""Behind an opinion that ends its clause, alone or with others (好吃 且 超值)."""
_NAMES = symbol_set("ASPECT CONJ LIST NUM NOUN BLOCKED PRON PART DE COP")
"""Units of a clause that names things and says nothing of them."""


def find_singled(
    clause: Sequence[Constituent], at: int, behind: Sequence[Constituent], above_all: Collection[str]
) -> tuple[Constituent, ...]:
    """The things that `behind` names with one of `above_all`, if opinion `at` ends its clause, or others behind it do.

    尤其是湯很好喝 and 尤其是晚上 name none: a clause with a predicate of its own, or no thing in it.
    """
    if not behind or behind[0].word not in above_all or any(item.symbol not in _ENDING for item in clause[at + 1 :]):
        return ()
    if not all(item.symbol in _NAMES for item in behind[1:]):
        return ()
    return tuple([item for item in behind if item.term is not None and item.term.role in THINGS])
