"""Sections on how good it is: scores, the discriminator (Tables 1 and 4, Figure 6), opinions no lexicon holds (Tables
6 and 8), annotators.
"""

from __future__ import annotations

import sqlite3
from collections import Counter
from functools import cache
from itertools import combinations

from builder.gold import agreement
from builder.gold.audit import describe_audit
from builder.lexicon.resources import Lexicon
from builder.metrics.systems import Settings
from builder.records import VERDICTS
from builder.release.figures import interval, of_manifest
from builder.report import scores
from builder.report.blocks import Cell, ReportFigure, Section, Table
from builder.report.yardsticks import Yardstick, answers, final_systems
from builder.stages.parts.audit import measured
from builder.store import audits, labels
from builder.store import report as asked
from builder.store.labels import LabelPool

NO_GOLD = "No human labels here. Label a sample: `builder pool`, then `builder annotate`; or name a gold file: `builder run evaluate --set evaluate.gold=FILE`."
NO_JUDGE = "No discriminator yet: `builder run discriminate`."


def stated(connection: sqlite3.Connection) -> Table:
    """What the release's card says of quality by gold reviews."""
    figures = of_manifest(asked.figures(connection))
    rows = tuple((one.figure, one.value, interval(one.low, one.high), one.of, one.by) for one in figures)
    return Table(
        "release-by-gold",
        "The release by gold reviews",
        ("figure", "percent", "95% interval", "of", "judged by"),
        rows,
        missing="No gold reviews here: `evaluate.gold` names them.",
    )


def scored(
    yardsticks: list[Yardstick], final: list[str], settings: Settings
) -> tuple[Section, tuple[float, str] | None]:
    """The score tables of every yardstick, and the head's (F1, of what)."""
    tables: list[Table] = []
    figures: list[ReportFigure] = []
    signed_scores: list[tuple[str, str]] = []
    head = None
    for number, yardstick in enumerate(yardsticks, start=1):
        done = scores.scored(yardstick, final, settings)
        if not done:
            continue
        tables += [scores.micro_table(yardstick, done, number), scores.paper_table(yardstick, done, number)]
        by_round = scores.round_table(yardstick, number)
        tables += [by_round] if by_round else []
        figures.append(scores.figure(yardstick, done, number))
        signed_scores += scores.signatures(yardstick, done)
        if head is None and yardstick.quality:
            name, measured = max(done.items(), key=lambda item: item[1][2].values["f1"].value)
            head = measured[2].values["f1"].value, f"lenient F1 of {name} by {yardstick.name}"
    quality = any(yardstick.quality for yardstick in yardsticks)
    if signed_scores:
        tables.append(
            Table(
                "score-signatures",
                "Signatures of the scores",
                ("score", "signature"),
                tuple(signed_scores),
                look="signatures",
            )
        )
    if not tables:
        tables = [Table("table-5", "Table 5 of the paper: systems by gold", ("system", "F1"), (), missing=NO_GOLD)]
    lead = "Percent, with 95% bootstrap intervals over the reviews. " + (
        "" if quality else f"These scores say how alike the models are to the rules, not how good they are. {NO_GOLD}"
    )
    return Section("scores", "Scores", lead.strip(), tuple(tables), tuple(figures)), head


def audit(connection: sqlite3.Connection) -> Section:
    """What people found in a sample of the release: precision by stratum, and recall over reviews read in full."""
    pool = audits.latest(connection)
    result = measured(connection, pool) if pool is not None else None
    rows: list[tuple[Cell, ...]] = []
    if result is not None:
        shares = [
            ("precision", result.precision),
            *result.strata.items(),
            ("precision, exact words", result.exact),
            ("recall", result.recall),
        ]
        rows = [
            (name, share.answers, share.value, share.low, share.high) for name, share in shares if share is not None
        ]
    lead = (
        describe_audit(result) if result is not None else ""
    ) or "Not measured: no person has judged a sample of this release."
    table = Table(
        "audit", "What people found in a sample", ("measure", "answers", "percent", "from", "to"), tuple(rows),
        note="From and to are the ends of 95% intervals: Wilson's, at the sample's effective size. Strata are weighted by their sizes.",
        missing="No answers yet: `builder audit draw`.",
    )  # fmt: skip
    return Section("audit", "Audit", lead, (table,))


def discriminator(connection: sqlite3.Connection, yardsticks: list[Yardstick]) -> Section:
    """What it learns from, what it says, and how right it is."""
    by_kind = {source.kind: source for source in asked.sources(connection)}
    rules, judge = by_kind.get("rules"), by_kind.get("discriminator")
    table_1 = Table(
        "table-1", "Table 1 of the paper: the discriminator's data", ("split", "triplets", "YY", "YN", "NX"),
        tuple(asked.discriminator_data(connection, rules.id)) if rules else (), missing="No triplets yet: `builder run seed`.",
        note="Counted by section 3.3.2: each rule triplet as YY, once more with a wrong polarity as YN, and twice as many unpaired aspects and opinions as NX.",
    )  # fmt: skip
    rows = (
        [(*row, 100.0 * int(row[2] or 0) / max(1, int(row[1] or 0))) for row in asked.accepted(connection, judge.id)]
        if judge
        else []
    )
    shown = [
        *(source.name for source in asked.sources(connection) if source.kind == "human"),
        *final_systems(connection),
    ]
    rows = [row for row in rows if row[0] in shown]
    verdicts = Table(
        "verdicts",
        "What the discriminator says, by who proposed",
        ("source", "judged", "YY", "YN", "NX", "abstained", "YY %"),
        tuple(rows),
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
    note = f"It catches {_of(caught, wrong)} wrong candidates and keeps {_of(kept, right)} right ones. A candidate near a gold triplet is YY, near its pair only YN, else NX, where people did not label it themselves."
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
    note = "Against what people decided (adjudicated, else the majority). (a, o): whether there is a pair; (a, o, p): the very label."
    name = "table-4" + ("" if number == 1 else f"-{number}")
    return Table(name, f"Table 4 of the paper: labelling methods on pool {pool.id}", columns, tuple(rows), note=note)


def beyond_lexicon(connection: sqlite3.Connection, lexicon: Lexicon, yardsticks: list[Yardstick]) -> Section:
    """Tables 6 and 8: what the final models find although no lexicon holds its opinion, and how much of that is right."""
    by_name = {source.name: source for source in asked.sources(connection)}
    judged = {key: label for yardstick in reversed(yardsticks) for key, label in yardstick.judged.items()}
    rows: list[tuple[Cell, ...]] = []
    known_opinion = cache(lexicon.knows)
    for split in ("test", "valid"):
        number = len(asked.reviews(connection, split))
        for name in final_systems(connection)[1:]:
            triplets = asked.proposed(connection, by_name[name].id, split)
            new = [triplet for triplet in triplets if not known_opinion(triplet.opinion)]
            verdicts = Counter(
                judged.get((triplet.review, triplet.aspect, triplet.opinion, triplet.polarity)) for triplet in new
            )
            known = sum(verdicts[label] for label in VERDICTS)
            counts: tuple[Cell, ...] = tuple(verdicts[label] for label in VERDICTS) if known else (None, None, None)
            rows.append(
                (
                    split,
                    f"self-train-{name[0]}",
                    number,
                    len(triplets),
                    len(new),
                    1000.0 * len(new) / max(1, len(triplets)),
                    *counts,
                    100.0 * verdicts["YY"] / known if known else None,
                )
            )
    columns = ("split", "model", "reviews", "triplets", "out of lexicon", "‰", "YY", "YN", "NX", "right %")
    note = "Out of lexicon: the opinion, less a negator, is no entry of the opinion lexicon. YY, YN and NX by human labels, where there are any."
    missing = "" if rows else "No model yet: `builder run self_train`."
    table = Table(
        "table-6",
        "Tables 6 and 8 of the paper: opinions that no lexicon holds",
        columns,
        tuple(rows),
        note=note,
        missing=missing,
    )
    return Section(
        "beyond", "Beyond the lexicon", "A model is worth its training where it finds what the rules cannot.", (table,)
    )


def templates(connection: sqlite3.Connection, settings: Settings) -> Table:
    """Table 3 from the test split."""
    by_name = {source.name: source for source in asked.sources(connection)}
    judge = next((source for source in by_name.values() if source.kind == "discriminator"), None)
    keys = asked.reviews(connection, "test")
    rows = asked.accepted(connection, judge.id) if judge else []
    accepted = {str(name): 100.0 * int(yes or 0) / max(1, int(number or 0)) for name, number, yes, *_ in rows}
    rules = answers(keys, asked.proposed(connection, by_name["rules"].id, "test")) if "rules" in by_name else {}
    systems = {
        name: answers(keys, asked.proposed(connection, source.id, "test"))
        for name, source in by_name.items()
        if name in final_systems(connection)[1:]
    }
    return scores.template_table(rules, systems, accepted, "test", settings)


def annotators(connection: sqlite3.Connection) -> Section:
    """How far the annotators of each pool agree: raw and beyond chance."""
    rows: list[tuple[Cell, ...]] = []
    for pool in labels.pools(connection):
        proposed = {
            candidate.id for candidate in pool.candidates if candidate.sources
        }  # what a person found missing was put to nobody
        for annotator, other in combinations(pool.labels, 2):
            both = [i for i in pool.labels[annotator] if i in pool.labels[other] and i in proposed]
            first, second = ([pool.labels[who][i].label for i in both] for who in (annotator, other))
            if both:
                rows.append(
                    (
                        pool.id,
                        annotator,
                        other,
                        len(both),
                        _percent(agreement.raw(first, second)),
                        _percent(agreement.cohen(first, second)),
                    )
                )
    columns = ("pool", "annotator", "annotator", "candidates", "same label %", "Cohen's kappa (percent)")
    note = "Kappa: agreement beyond chance (Cohen 1960); the dash stands where both always say the same one label."
    table = Table(
        "agreement",
        "Agreement of annotators, two by two",
        columns,
        tuple(rows),
        note=note,
        missing="Nobody has labelled a pool twice: `builder pool`, `builder annotate`, `builder judge`.",
    )
    return Section(
        "agreement",
        "Agreement of the annotators",
        "People, language models and the discriminator over the same candidates.",
        (table,),
    )


def _percent(share: float | None) -> float | None:
    return None if share is None else 100.0 * share
