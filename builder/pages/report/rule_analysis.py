"""How the pairing rules share their work, as Snorkel's analysis of labelling functions shows it (Ratner et al. 2017).

In: the open database, the rule engine, and yardsticks. Out: a table with a row for each rule. Accuracy stands only
where gold knows the rule's triplets; elsewhere it is not known.
"""

from __future__ import annotations

import sqlite3
from collections import Counter

from builder.core.wording import counted
from builder.engine import RuleEngine
from builder.language.lexicon.resources import Lexicon
from builder.pages.report.blocks import Cell, Table
from builder.pages.report.numbers import percent
from builder.pages.report.yardsticks import Yardstick
from builder.pipeline.rule_report import report
from builder.store import released
from builder.store import report as asked

_READ = 2000
"""Annotated reviews that the engine reads again."""


def analyse_rules(
    connection: sqlite3.Connection, engine: RuleEngine, lexicon: Lexicon, yardsticks: list[Yardstick]
) -> Table:
    """Coverage, overlap, conflict and accuracy of each rule."""
    opinions, rows = report(connection, engine, lexicon, _READ)
    yardstick = next((known for known in yardsticks if known.quality), None)
    right, known = _judged(connection, yardstick)
    kept = released.by_rule(connection)
    cells: list[tuple[Cell, ...]] = [
        (
            row.rule,
            percent(row.hits, opinions),
            percent(row.overlaps, opinions),
            percent(row.conflicts, opinions),
            row.yields,
            kept.get(row.rule),
            known[row.rule] or None,
            percent(right[row.rule], known[row.rule]) if known[row.rule] else None,
        )
        for row in rows
    ]
    columns = ("rule", "coverage %", "overlap %", "conflict %", "decides", "released", "judged", "accuracy %")
    by = f"Accuracy: the share that is right by {yardstick.name}." if yardstick else "Accuracy is not known: no gold."
    note = (
        f"Of the {counted(opinions, 'opinion')} of the first {_READ:,} reviews at most: those for which the "
        "rule finds an "
        "aspect (coverage), for which another rule finds the same (overlap) or another one (conflict), and those whose "
        f"aspect it decides. {by}"
    )
    missing = "No annotated reviews: `builder run annotate`."
    return Table("rule-analysis", "The rules side by side", columns, tuple(cells), note, missing)


def _judged(connection: sqlite3.Connection, yardstick: Yardstick | None) -> tuple[Counter[str], Counter[str]]:
    """(right, judged) triplets by rule."""
    right, known = Counter[str](), Counter[str]()
    for rule, *triplet in asked.proposed_by_rules(connection) if yardstick else ():
        review, aspect, opinion, polarity = triplet
        if yardstick and (label := yardstick.judged.get((review, aspect, opinion, polarity))):
            known[rule] += 1
            right[rule] += label == "YY"
    return right, known
