"""What systems are measured with: people's gold, the labels of a pool, a judge's labels, or, where there is none of these, the rules' own output.

In: the database. Out: `Yardstick`s: gold answers by review, and what each system says there. Pure but for reading.
"""

from __future__ import annotations

import sqlite3
from dataclasses import dataclass

from builder.metrics import Answer
from builder.metrics.matching import near_label
from builder.store import labels, runs
from builder.store import report as asked
from builder.store.labels import Candidate, Label, Pool
from builder.store.report import Said, Source

Answers = dict[str, list[Answer]]


@dataclass(frozen=True, slots=True)
class Yardstick:
    """`quality`: whether it says how good a system is, or only how alike to the rules. `verdicts`: (gold label, discriminator's label, None where it abstains)
    of each candidate both know. `judged`: triplet (review, aspect, opinion, polarity) -> YY, YN or NX."""

    name: str
    split: str
    quality: bool
    gold: Answers
    systems: dict[str, Answers]
    verdicts: tuple[tuple[str, str | None], ...]
    judged: dict[tuple[str, str, str, str], str]


def found(connection: sqlite3.Connection) -> list[Yardstick]:
    """All there are, the best first; the rules themselves only where there is no other."""
    listed = asked.sources(connection)
    out = [_human(connection, listed, one) for one in listed if one.kind == "human"]
    for pool in labels.pools(connection):
        out += _pooled(pool)
    return out or [_rules(connection, listed)] if any(one.name == "rules" for one in listed) else out


def final_systems(connection: sqlite3.Connection) -> list[str]:
    """The rules, and the last model of each variant."""
    last = {done.variant: done.round for done in runs.rounds(connection)}
    return ["rules", *(f"{variant}{number}" for variant, number in sorted(last.items()))]


def _human(connection: sqlite3.Connection, listed: list[Source], gold: Source) -> Yardstick:
    keys = asked.reviews(connection, "test")
    due = answers(keys, asked.said(connection, gold.id, "test"))
    said = {one.name: asked.said(connection, one.id, "test") for one in listed if one.kind in ("rules", "model")}
    judge = next((one for one in listed if one.kind == "discriminator"), None)
    verdicts = asked.verdicts(connection, judge.id, "test") if judge else {}
    triplets = {one.id: one for rows in said.values() for one in rows}
    named = {i: near_label(due[one.review], (one.aspect, one.opinion, one.polarity)) for i, one in sorted(triplets.items())}
    pairs = tuple((label, verdicts[i]) for i, label in named.items() if i in verdicts)
    judged = {(one.review, one.aspect, one.opinion, one.polarity): named[i] for i, one in triplets.items()}
    systems = {name: answers(keys, rows) for name, rows in said.items()}
    return Yardstick(f"human labels ({gold.name})", "test", True, due, systems, pairs, judged)


def _rules(connection: sqlite3.Connection, listed: list[Source]) -> Yardstick:
    keys = asked.reviews(connection, "valid")
    by_name = {one.name: one for one in listed}
    due = answers(keys, asked.said(connection, by_name["rules"].id, "valid"))
    models = {one.name: answers(keys, asked.said(connection, one.id, "valid")) for one in listed if one.kind == "model"}
    return Yardstick("the rules' own output", "valid", False, due, models, (), {})


def answers(keys: list[str], said: list[Said]) -> Answers:
    out: Answers = {key: [] for key in keys}
    for one in said:
        out[one.review].append((one.aspect, one.opinion, one.polarity))
    return out


def _pooled(pool: Pool) -> list[Yardstick]:
    """One by what people decided, one by each language model that labelled all of a review's candidates somewhere."""
    said = {f"people's labels of pool {pool.id}": pool.final} | {
        f"{name}'s labels of pool {pool.id}": listed for name, listed in pool.labels.items() if pool.kinds[name] == "llm"
    }
    return [_labelled(pool, name, listed) for name, listed in said.items() if listed]


def _labelled(pool: Pool, name: str, said: dict[int, Label]) -> Yardstick:
    """Reviews with an undecided candidate are left out; a review without candidates has nothing to decide (the paper counts it too)."""
    open_ = {one.review for one in pool.candidates if one.sources and one.id not in said}
    keys = [key for key in pool.reviews if key not in open_]
    names = sorted({source for one in pool.candidates for source in one.sources}, key=lambda one: (one != "rules", one))
    gold: Answers = {key: [] for key in keys}
    systems: dict[str, Answers] = {source: {key: [] for key in keys} for source in names}
    judged: dict[tuple[str, str, str, str], str] = {}
    for one in pool.candidates:
        if one.review in open_:
            continue
        if one.id in said:
            gold[one.review] += stands_for(one, said[one.id])
            judged[one.review, one.aspect, one.opinion, one.polarity] = said[one.id].label
        for source in one.sources:
            systems[source][one.review].append((one.aspect, one.opinion, one.polarity))
    machine = next((listed for name, listed in pool.labels.items() if pool.kinds[name] == "discriminator"), {})
    pairs = tuple((label.label, machine[i].label) for i, label in sorted(said.items()) if i in machine)
    return Yardstick(name, pool.split, True, gold, systems, pairs, judged)


def stands_for(one: Candidate, label: Label) -> list[Answer]:
    """The gold triplet of a label: the candidate, corrected where the label says how; none for a pair that is wrong as it is."""
    if (label.label == "NX" and not label.spans) or (label.label == "YN" and label.polarity is None):
        return []
    aspect, opinion = (
        "".join(one.text[start:end] for start, end in label.spans[name]) if name in label.spans else surface
        for name, surface in (("aspect", one.aspect), ("opinion", one.opinion))
    )
    return [(aspect, opinion, label.polarity or one.polarity)]
