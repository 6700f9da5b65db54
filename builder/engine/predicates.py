"""Predicates that judge by their make: 沒通知, 忘記放, 會幫忙.

What a construction and a class of verbs say together no word of them says alone.

In: the units of a clause, rules of kind `predicate`. Out: the units with each such run as one opinion, which carries
its own entry. Pure.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import reduce
from itertools import chain, pairwise
from operator import or_
from typing import NamedTuple

from builder.engine.constituents import Constituent, Phrase, Units
from builder.engine.matching import RuleIndex, place_bits
from builder.engine.rows import Classes, RuleRows, WordTable, compile_body
from builder.engine.symbols import OPINION
from builder.language.lexicon.resources import OpinionEntry
from builder.language.lexicon.rules import Rule


@dataclass(frozen=True, slots=True)
class PredicateRule:
    """Parameters of a rule of kind `predicate`.

    `pattern`: the units that become one opinion of `category`; `before` and `after`: what stands around them. They name
    units, properties and classes as other rules that match do.
    """

    pattern: str
    category: str
    words: Mapping[str, tuple[str, ...]]
    before: str = ""
    after: str = ""


class _Predicate(NamedTuple):
    """A rule made ready: its expression with the group `core`, for each class that a match needs a word of its bits,
    and the entry of what it finds.
    """

    rows: RuleRows
    body: str
    needs: tuple[int, ...]
    entry: OpinionEntry


class Predicates:
    """All predicates, found by the words that they need."""

    def __init__(
        self,
        rules: Sequence[tuple[Rule, PredicateRule]],
        shared: Classes,
        table: WordTable,
        valences: Mapping[str, float],
    ) -> None:
        """`shared`: classes of words that every rule may name. `valences`: those of the categories.

        ResourceError names an unknown category or unit.
        """
        self._table = table
        made = [_compile_rule(rule, params, shared, table, valences) for rule, params in rules]
        self._index = RuleIndex([(one.needs[0] if one.needs else 0, one) for one in made])
        self._makeable = reduce(or_, [table.find(one.entry.word, one.entry) for one in made], 0)
        """The classes of the opinions that they make, by category: a later one may need what an earlier one makes."""

    def read(self, units: list[Constituent]) -> list[Constituent]:
        """The units, with each run that is such a predicate as one opinion."""
        bits = [self._table.find(unit.word, unit.entry) for unit in units]
        clause, placed = reduce(or_, bits, 0), place_bits(units, bits)
        for rows, body, needs, entry in self._index.find(clause | self._makeable):
            if not all(need & clause for need in needs):
                continue
            line = "".join(map(rows.spell, placed))
            for match in reversed(list(compile_body(body).finditer(line))):
                first, stop = (at // rows.width for at in match.span("core"))
                run = units[first:stop]
                if run and all(a.end == b.start for a, b in pairwise(run)):
                    one = _make_one(run, entry)
                    units = [*units[:first], one, *units[stop:]]
                    bits[first:stop] = [self._table.find(one.word, one.entry)]
                    clause, placed = clause | bits[first], place_bits(units, bits)
        return units


def _compile_rule(
    rule: Rule, params: PredicateRule, shared: Classes, table: WordTable, valences: Mapping[str, float]
) -> _Predicate:
    if params.category not in valences:
        fix = "use one of lexicons/opinion_categories.tsv"
        raise rule.fault("category", f"unknown category {params.category!r}", fix)
    parts = {"before": params.before, "pattern": params.pattern, "after": params.after}
    rows = RuleRows(rule, {key: [part] for key, part in parts.items()}, shared, params.words, table)
    before, core, after = map(rows.spell_pattern, parts.values())
    own = reduce(or_, map(table.add, params.words.values()), 0)
    needs = tuple(chain(*map(rows.find_needs, parts.values()))) or ((own,) if own else ())
    entry = OpinionEntry(rule.name, params.category, valences[params.category], rule.where)
    return _Predicate(rows, f"(?:{before})(?P<core>{core})(?={after})", needs, entry)


def _make_one(run: Units, entry: OpinionEntry) -> Constituent:
    word = "".join(unit.word for unit in run)
    own = OpinionEntry(word, entry.category, entry.valence, entry.where)
    start, end = run[0].start, run[-1].end
    return Constituent(start, end, OPINION, word, run[-1].last, Phrase((start, end), own))
