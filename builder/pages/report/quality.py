"""Sections on how good the dataset is: scores, audit, opinions that no lexicon holds (Tables 6 and 8), annotators.

In: the open database, and yardsticks. Out: sections of tables and figures.
"""

from __future__ import annotations

import sqlite3
from collections import Counter
from functools import cache
from itertools import combinations

from builder.core.records import VERDICTS
from builder.gold import agreement
from builder.gold.agreement import describe_audit
from builder.gold.metrics.systems import Settings
from builder.language.lexicon.resources import Lexicon
from builder.pages.report import scores
from builder.pages.report.blocks import Cell, ReportFigure, Section, Table
from builder.pages.report.yardsticks import NO_GOLD, Yardstick, answers, final_systems
from builder.pipeline.layers import measured
from builder.pipeline.rounds import TEMPLATE_SOURCES
from builder.release.manifest import interval, of_manifest
from builder.store import gold, pools
from builder.store import report as asked


def stated(connection: sqlite3.Connection) -> Table:
    """What the release's card says of quality by gold reviews."""
    figures = of_manifest(asked.figures(connection))
    rows = tuple(
        (figure.figure, figure.value, interval(figure.low, figure.high), figure.of, figure.by) for figure in figures
    )
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
        figures += [scores.figure(yardstick, done, number)] if len(done) > 1 else []  # a dot alone says nothing
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
    title = "How good it is, by gold" if quality else "Agreement of models and rules, which is not quality"
    return Section("scores", title, lead.strip(), tuple(tables), tuple(figures)), head


def audit(connection: sqlite3.Connection) -> Section:
    """What people found in a sample of the release: precision by stratum, and recall over reviews read in full."""
    pool = pools.latest(connection)
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
        note="From and to are the ends of 95% intervals: Wilson's, at the sample's effective size. Strata are "
            "weighted by their sizes.",
        missing="No answers yet: `builder gold audit draw`.",
    )  # fmt: skip
    return Section("audit", "What people found in a sample of the release", lead, (table,))


def beyond_lexicon(connection: sqlite3.Connection, lexicon: Lexicon, yardsticks: list[Yardstick]) -> Section:
    """Tables 6 and 8: what the final models find although no lexicon holds its opinion, and how much of that is
    right.
    """
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
    note = (
        "Out of lexicon: the opinion, less a negator, is no entry of the opinion lexicon. YY, YN and NX by gold "
        "or a language model's labels, where there are any."
    )
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
    """Table 3 from the test split: the models of the two templates where they were trained, then the final models."""
    by_name = {source.name: source for source in asked.sources(connection)}
    judge = next((source for source in by_name.values() if source.kind == "discriminator"), None)
    keys = asked.reviews(connection, "test")
    rows = asked.accepted(connection, judge.id, "test") if judge else []
    accepted = {str(name): 100.0 * int(yes or 0) / max(1, int(number or 0)) for name, number, yes, *_ in rows}
    rules = answers(keys, asked.proposed(connection, by_name["rules"].id, "test")) if "rules" in by_name else {}
    compared = [name for name in TEMPLATE_SOURCES if name in by_name]
    systems = {
        name: answers(keys, asked.proposed(connection, by_name[name].id, "test"))
        for name in (*compared, *final_systems(connection)[1:])
    }
    return scores.template_table(rules, systems, accepted, "test", settings)


def annotators(connection: sqlite3.Connection) -> Section:
    """How far the annotators of each pool agree: raw and beyond chance."""
    rows: list[tuple[Cell, ...]] = []
    for pool in gold.labelled_pools(connection):
        candidates = (candidate for review in pool.pool.reviews for candidate in review.candidates)
        proposed = {one.id for one in candidates if one.sources}  # what a person found missing was put to nobody
        for annotator, other in combinations(pool.labels, 2):
            both = [i for i in pool.labels[annotator] if i in pool.labels[other] and i in proposed]
            first, second = ([pool.labels[who][i].label for i in both] for who in (annotator, other))
            if both:
                rows.append(
                    (
                        pool.pool.id,
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
        missing="Nobody has labelled a pool twice: `builder gold pool`, `builder gold annotate`, `builder gold judge`.",
    )
    return Section(
        "agreement",
        "Agreement of the annotators",
        "People, language models and the discriminator over the same candidates.",
        (table,),
    )


def _percent(share: float | None) -> float | None:
    return None if share is None else 100.0 * share
