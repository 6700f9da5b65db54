"""The section on the discriminator: its data, its verdicts, and how right these are (Tables 1 and 4, Figure 6).

In: the open database, and yardsticks. Out: a section of tables.
"""

from __future__ import annotations

import sqlite3
from collections import Counter

from builder.core.records import VERDICTS
from builder.pages.report.blocks import Cell, Section, Table
from builder.pages.report.yardsticks import NO_GOLD, Yardstick, final_systems
from builder.store import browse, labels, runs
from builder.store import report as asked
from builder.store.labels import LabelPool

NO_JUDGE = (
    "No discriminator was trained: there are too few reviews for one (`discriminate.least`), the profile is "
    "`rules`, or `builder run discriminate` is due."
)


def discriminator(connection: sqlite3.Connection, yardsticks: list[Yardstick]) -> Section:
    """What the discriminator learns from, its verdicts, and how right they are."""
    by_kind = {source.kind: source for source in asked.sources(connection)}
    rules, judge = by_kind.get("rules"), by_kind.get("discriminator")
    table_1 = Table(
        "table-1", "Table 1 of the paper: the discriminator's data", ("split", "triplets", "YY", "YN", "NX"),
        tuple(asked.discriminator_data(connection, rules.id)) if rules else (),
        missing="No triplets yet: `builder run seed`.",
        note="Counted by section 3.3.2: each rule triplet as YY, once more with a wrong polarity as YN, and twice as "
            "many unpaired aspects and opinions as NX. Words that stand twice in a review count once.",
    )  # fmt: skip
    rows = (
        [(*row, 100.0 * int(row[2] or 0) / max(1, int(row[1] or 0))) for row in asked.accepted(connection, judge.id)]
        if judge
        else []
    )
    shown = [
        *(source.name for source in asked.sources(connection) if source.kind == "gold"),
        *final_systems(connection),
    ]
    rows = [row for row in rows if row[0] in shown]
    verdicts = Table(
        "verdicts",
        f"What the {runs.judge(connection) or 'discriminator'} says, by who proposed",
        ("source", "judged", "YY", "YN", "NX", "abstained", "YY %"),
        tuple(rows),
        note=browse.judge_doubt(connection),
        missing=NO_JUDGE,
    )
    tables = [verdicts, table_1]
    for number, yardstick in enumerate((yardstick for yardstick in yardsticks if yardstick.quality), start=1):
        tables += [_confusion(yardstick, number)]
    tables += [_labelling(pool, number) for number, pool in enumerate(labels.pools(connection), start=1) if pool.final]
    if len(tables) == 2:
        tables.append(
            Table(
                "figure-6",
                "Figure 6 of the paper: the discriminator against people",
                ("people say",),
                (),
                missing=NO_GOLD,
            )
        )
        tables.append(Table("table-4", "Table 4 of the paper: labelling methods", ("method",), (), missing=NO_GOLD))
    lead = (
        "YY: the opinion describes the aspect, with this polarity. YN: another polarity. NX: it does not describe it."
    )
    return Section("discriminator", "Discriminator", lead, tuple(tables))


def _confusion(yardstick: Yardstick, number: int) -> Table:
    """Figure 6: rows by the yardstick, columns by the discriminator; and, of the wrong ones, how many it catches."""
    cells = Counter(yardstick.verdicts)
    shown = (*VERDICTS, *([None] if any(verdict is None for _, verdict in cells) else []))
    rows = tuple((due, *(cells[due, verdict] for verdict in shown)) for due in VERDICTS)
    wrong = sum(n for (due, _), n in cells.items() if due != "YY")
    caught = sum(n for (due, verdict), n in cells.items() if due != "YY" and verdict in ("YN", "NX"))
    right = sum(n for (due, _), n in cells.items() if due == "YY")
    kept = sum(n for (due, verdict), n in cells.items() if due == "YY" and verdict not in ("YN", "NX"))
    note = (
        f"It catches {_of(caught, wrong)} wrong candidates and keeps {_of(kept, right)} right ones. A candidate near "
        "a gold triplet is YY, near its pair only YN, else NX, where it has no label of its own."
    )
    columns = (f"{yardstick.name} say", *(f"discriminator {label or 'abstains'}" for label in shown))
    name = "figure-6" + ("" if number == 1 else f"-{number}")
    return Table(
        name,
        f"Figure 6 of the paper: the discriminator by {yardstick.name}",
        columns,
        rows if yardstick.verdicts else (),
        note=note,
        look="matrix",
        missing="" if yardstick.verdicts else NO_JUDGE,
    )


def _of(part: int, whole: int) -> str:
    return f"{part:,} of {whole:,} ({100 * part / whole:.0f}%)" if whole else "none of no"


def _labelling(pool: LabelPool, number: int) -> Table:
    """Table 4: the labels of each annotator, and how often they are people's final ones: of the pair, and of the
    whole triplet.
    """
    everything = {candidate.id: "YY" for candidate in pool.candidates if candidate.sources}
    methods = {"all taken as right": everything} | {
        name: {i: label.label for i, label in decisions.items()} for name, decisions in pool.labels.items()
    }
    rows: list[tuple[Cell, ...]] = []
    for name, decisions in methods.items():
        both = [(label, pool.final[i].label) for i, label in decisions.items() if i in pool.final and i in everything]
        count = Counter(label for label, _ in both)
        pair = sum((label == "NX") == (due == "NX") for label, due in both)
        whole = sum(label == due for label, due in both)
        rows.append(
            (
                name,
                pool.kinds.get(name, ""),
                len(both),
                *(count[label] for label in VERDICTS),
                100.0 * pair / max(1, len(both)),
                100.0 * whole / max(1, len(both)),
            )
        )
    columns = ("method", "kind", "labels", "YY", "YN", "NX", "(a, o) right %", "(a, o, p) right %")
    note = (
        "Against what people decided (adjudicated, else the majority). (a, o): whether there is a pair; (a, o, p): "
        "the very label."
    )
    name = "table-4" + ("" if number == 1 else f"-{number}")
    return Table(name, f"Table 4 of the paper: labelling methods on pool {pool.id}", columns, tuple(rows), note=note)
