"""What each pairing rule does on real reviews: coverage, overlap, conflict, yield (as Snorkel's analysis of labelling
functions).
"""

from __future__ import annotations

import sqlite3
from collections import Counter
from dataclasses import dataclass

from builder.engine import RuleEngine
from builder.language.lexicon.resources import Lexicon
from builder.pipeline.induction import documents
from builder.store import labellers


@dataclass(frozen=True, slots=True)
class RuleRow:
    """Opinions for which a rule finds an aspect (`hits`), those it decides (`yields`), and of its hits those where
    another rule finds the same aspect (`overlaps`) or another one (`conflicts`).
    """

    rule: str
    hits: int
    yields: int
    overlaps: int
    conflicts: int


def report(
    connection: sqlite3.Connection, engine: RuleEngine, lexicon: Lexicon, limit: int
) -> tuple[int, list[RuleRow]]:
    """Opinions seen in the first `limit` annotated reviews, and a row a rule, most productive first."""
    hits, yields, overlaps, conflicts = Counter[str](), Counter[str](), Counter[str](), Counter[str]()
    opinions = 0
    for number, doc in enumerate(documents(connection, lexicon)):
        if number >= limit:
            break
        for decided, chosen in engine.votes(doc):
            opinions += 1
            if decided:
                yields[decided] += 1
            for rule, place in chosen.items():
                others = [other for name, other in chosen.items() if name != rule]
                hits[rule] += 1
                overlaps[rule] += place in others
                conflicts[rule] += any(other != place for other in others)
    rows = [RuleRow(rule, hits[rule], yields[rule], overlaps[rule], conflicts[rule]) for rule in hits]
    return opinions, sorted(rows, key=lambda row: (-row.yields, row.rule))


def report_labellers(connection: sqlite3.Connection) -> list[RuleRow]:
    """A row for each language model that proposes triplets, by all of its reviews: what it proposes, what came in by it
    alone, what the rules find too, and where the rules say something else of its opinion.
    """
    return [RuleRow(name, *labellers.compare_rules(connection, name)) for name in labellers.names(connection)]
