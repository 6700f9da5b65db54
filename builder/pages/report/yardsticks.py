"""What systems are measured with: gold, the labels of a pool, a judge's labels, or, where there is none of
these, the rules' own output.

In: the database. Out: `Yardstick`s: gold answers by review, and what each system says there. Pure but for reading.
"""

from __future__ import annotations

import sqlite3
from dataclasses import dataclass

from builder.core.records import Label
from builder.core.wording import NOT_STATED, name_annotators
from builder.gold.items import meant
from builder.gold.metrics import Answer
from builder.gold.metrics.scores import name_answer, near_label
from builder.store import pool_labels, released, runs
from builder.store import report as asked
from builder.store.pool_labels import LabelPool
from builder.store.report import ProposedTriplet, StoredSource

Answers = dict[str, list[Answer]]

NO_GOLD = (
    "No gold here. Label a sample: `builder gold pool`, then `builder gold annotate`; or name a gold file: `builder "
    "run evaluate --set evaluate.gold=FILE`."
)


@dataclass(frozen=True, slots=True)
class Yardstick:
    """What systems are measured with on a split.

    `quality`: whether it says how good a system is, or only how alike to the rules. `verdicts`: (gold label,
    discriminator's label, None where it abstains) of each candidate that both know. `judged`: triplet (review,
    aspect, opinion, polarity) -> YY, YN or NX.
    """

    name: str
    split: str
    quality: bool
    gold: Answers
    systems: dict[str, Answers]
    verdicts: tuple[tuple[str, str | None], ...]
    judged: dict[tuple[str, str, str, str], str]


def find_yardsticks(connection: sqlite3.Connection) -> list[Yardstick]:
    """All there are, the best first; the rules themselves only where there is no other."""
    sources = asked.sources(connection)
    pooled = released.labelled_by(connection)  # a pool's labels are read from the pool
    out = [
        _by_gold(connection, sources, source)
        for source in sources
        if source.kind == "gold" and "pool" not in pooled.get(source.name, "")
    ]
    for pool in pool_labels.labelled_pools(connection):
        out += _pooled(pool)
    return out or [_rules(connection, sources)] if any(source.name == "rules" for source in sources) else out


def final_systems(connection: sqlite3.Connection) -> list[str]:
    """The rules, and the last model of each variant; none that only repeats the rules."""
    last = {done.variant: done.round for done in runs.rounds(connection)}
    known = {source.name for source in asked.sources(connection)}
    return ["rules", *(name for variant, number in sorted(last.items()) if (name := f"{variant}{number}") in known)]


def _by_gold(connection: sqlite3.Connection, sources: list[StoredSource], gold: StoredSource) -> Yardstick:
    keys = asked.reviews(connection, "test")
    due = answers(keys, asked.proposed(connection, gold.id, "test"))
    proposals = {
        source.name: asked.proposed(connection, source.id, "test")
        for source in sources
        if source.kind in ("rules", "model")
    }
    judge = next((source for source in sources if source.kind == "discriminator"), None)
    verdicts = asked.verdicts(connection, judge.id, "test") if judge else {}
    triplets = {triplet.id: triplet for rows in proposals.values() for triplet in rows}
    named = {i: near_label(due[t.review], (t.aspect, t.opinion, t.polarity)) for i, t in sorted(triplets.items())}
    pairs = tuple((label, verdicts[i]) for i, label in named.items() if i in verdicts)
    judged = {(t.review, t.aspect, t.opinion, t.polarity): named[i] for i, t in triplets.items()}
    systems = {name: answers(keys, rows) for name, rows in proposals.items()}
    by = f" by {name_annotators(gold.annotators)}" if gold.annotators else f" ({NOT_STATED})"
    return Yardstick(f"gold{by}", "test", True, due, systems, pairs, judged)


def _rules(connection: sqlite3.Connection, sources: list[StoredSource]) -> Yardstick:
    keys = asked.reviews(connection, "valid")
    by_name = {source.name: source for source in sources}
    due = answers(keys, asked.proposed(connection, by_name["rules"].id, "valid"))
    models = {
        source.name: answers(keys, asked.proposed(connection, source.id, "valid"))
        for source in sources
        if source.kind == "model"
    }
    return Yardstick("the rules' own output", "valid", False, due, models, (), {})


def answers(keys: list[str], triplets: list[ProposedTriplet]) -> Answers:
    """The triplets of each review, also of those in which nothing is proposed."""
    out: Answers = {key: [] for key in keys}
    for triplet in triplets:
        out[triplet.review].append((triplet.aspect, triplet.opinion, triplet.polarity))
    return out


def _pooled(labelled: LabelPool) -> list[Yardstick]:
    """One by what people decided, one by each language model that labelled all of a review's candidates somewhere."""
    pool = labelled.pool.id
    labels_by_name = {f"people's labels of pool {pool}": labelled.final} | {
        f"{name}'s labels of pool {pool}": decisions
        for name, decisions in labelled.labels.items()
        if labelled.kinds[name] == "llm"
    }
    return [_labelled(labelled, name, decisions) for name, decisions in labels_by_name.items() if decisions]


def _labelled(labelled: LabelPool, name: str, decided: dict[int, Label]) -> Yardstick:
    """Reviews with an undecided candidate are left out; a review without candidates has nothing to decide (the paper
    counts it too).
    """
    names = {source for review in labelled.pool.reviews for one in review.candidates for source, _ in one.sources}
    gold: Answers = {}
    systems: dict[str, Answers] = {source: {} for source in sorted(names, key=lambda name: (name != "rules", name))}
    judged: dict[tuple[str, str, str, str], str] = {}
    for review in labelled.pool.reviews:
        if any(candidate.sources and candidate.id not in decided for candidate in review.candidates):
            continue
        for answers in (gold, *systems.values()):
            answers[review.key] = []
        for candidate in review.candidates:
            answer = name_answer(candidate.triplet)
            if (label := decided.get(candidate.id)) is not None:
                right = meant(review, candidate, label)
                gold[review.key] += [name_answer(right)] if right else []
                judged[(review.key, *answer)] = str(label.label)
            for source, _ in candidate.sources:
                systems[source][review.key].append(answer)
    machine = next((own for name, own in labelled.labels.items() if labelled.kinds[name] == "discriminator"), {})
    pairs = tuple((str(label.label), machine[i].label) for i, label in sorted(decided.items()) if i in machine)
    return Yardstick(name, labelled.pool.split, True, gold, systems, pairs, judged)
