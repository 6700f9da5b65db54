"""Sections on how good the dataset is: scores, audit, opinions that no lexicon holds (Tables 6 and 8).

In: the open database, and yardsticks. Out: sections of tables. Score tables hold every system by every yardstick, with
intervals and the paired difference to the rules (paper, Tables 3 and 5).
"""

from __future__ import annotations

import sqlite3
from collections import Counter
from collections.abc import Mapping, Sequence
from functools import cache

from builder.core.records import VERDICTS
from builder.gold.agreement import describe_audit
from builder.gold.metrics import micro
from builder.gold.metrics.scores import Metric
from builder.gold.metrics.systems import Settings, SystemScores, measure, together
from builder.language.lexicon.resources import Lexicon
from builder.pages.report.blocks import Cell, Section, Table, percent
from builder.pages.report.yardsticks import NO_GOLD, Answers, Yardstick, answers, final_systems
from builder.pipeline.layers import measured
from builder.pipeline.rounds import TEMPLATE_SOURCES
from builder.release.manifest import interval, of_manifest
from builder.store import pools
from builder.store import report as asked


def stated(connection: sqlite3.Connection) -> Table:
    """What the release's card says of quality by gold reviews."""
    figures = of_manifest(asked.figures(connection))
    rows = tuple((one.figure, one.value, interval(one.low, one.high), one.of, one.by) for one in figures)
    columns = ("figure", "percent", "95% interval", "of", "judged by")
    missing = "No gold reviews here: `evaluate.gold` names them."
    return Table("release-by-gold", "The release by gold reviews", columns, rows, missing=missing)


def score_all(
    yardsticks: list[Yardstick], final: list[str], settings: Settings
) -> tuple[Section, tuple[float, str] | None]:
    """The score tables of every yardstick, and the head's (F1, of what)."""
    tables: list[Table] = []
    signed_scores: list[tuple[str, str]] = []
    head = None
    for number, yardstick in enumerate(yardsticks, start=1):
        done = score_systems(yardstick, final, settings)
        if not done:
            continue
        tables += [micro_table(yardstick, done, number), paper_table(yardstick, done, number)]
        by_round = round_table(yardstick, number)
        tables += [by_round] if by_round else []
        signed_scores += sign_scores(yardstick, done)
        if head is None and yardstick.quality:
            name, measured = max(done.items(), key=lambda item: item[1][2].values["f1"].value)
            head = measured[2].values["f1"].value, f"lenient F1 of {name} by {yardstick.name}"
    quality = any(yardstick.quality for yardstick in yardsticks)
    if signed_scores:
        columns = ("score", "signature")
        tables.append(
            Table("score-signatures", "Signatures of the scores", columns, tuple(signed_scores), look="signatures")
        )
    if not tables:
        tables = [Table("table-5", "Table 5 of the paper: systems by gold", ("system", "F1"), (), missing=NO_GOLD)]
    lead = "Percent, with 95% bootstrap intervals over the reviews. " + (
        "" if quality else f"These scores say how alike the models are to the rules, not how good they are. {NO_GOLD}"
    )
    title = "How good it is, by gold" if quality else "Agreement of models and rules, which is not quality"
    return Section("scores", title, lead.strip(), tuple(tables)), head


def audit(connection: sqlite3.Connection) -> Section:
    """What people found in a sample of the release: precision by stratum, and recall over reviews read in full."""
    pool = pools.latest(connection)
    result = measured(connection, pool) if pool is not None else None
    rows: list[tuple[Cell, ...]] = []
    if result is not None:
        rows = [(name, share.answers, share.value, share.low, share.high) for name, share in result.shares() if share]
    audited = describe_audit(result) if result is not None else ""
    lead = audited or "Not measured: no person has judged a sample of this release."
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
            share = 1000.0 * len(new) / max(1, len(triplets))
            right = percent(verdicts["YY"], known) if known else None
            rows.append((split, f"self-train-{name[0]}", number, len(triplets), len(new), share, *counts, right))
    columns = ("split", "model", "reviews", "triplets", "out of lexicon", "‰", "YY", "YN", "NX", "right %")
    note = (
        "Out of lexicon: the opinion, less a negator, is no entry of the opinion lexicon. YY, YN and NX by gold "
        "or a language model's labels, where there are any."
    )
    title = "Tables 6 and 8 of the paper: opinions that no lexicon holds"
    table = Table("table-6", title, columns, tuple(rows), note, _NO_MODEL)
    lead = "A model is worth its training where it finds what the rules cannot."
    return Section("beyond", "Beyond the lexicon", lead, (table,))


def templates(connection: sqlite3.Connection, settings: Settings) -> Table:
    """Table 3 from the test split: the models of the two templates where they were trained, then the final models."""
    by_name = {source.name: source for source in asked.sources(connection)}
    judge = next((source for source in by_name.values() if source.kind == "discriminator"), None)
    keys = asked.reviews(connection, "test")
    rows = asked.accepted(connection, judge.id, "test") if judge else []
    accepted = {str(name): percent(int(yes or 0), int(number or 0)) for name, number, yes, *_ in rows}
    rules = answers(keys, asked.proposed(connection, by_name["rules"].id, "test")) if "rules" in by_name else {}
    compared = [name for name in TEMPLATE_SOURCES if name in by_name]
    systems = {
        name: answers(keys, asked.proposed(connection, by_name[name].id, "test"))
        for name in (*compared, *final_systems(connection)[1:])
    }
    return template_table(rules, systems, accepted, "test", settings)


_NO_MODEL = "No model yet: `builder run self_train`."
_SHOWN = (
    Metric("paper", "triplet"), Metric("exact", "triplet"), Metric("lenient", "triplet"), Metric("lenient", "pair"),
    Metric("lenient", "polarity"),
)  # fmt: skip
Scored = dict[str, list[SystemScores]]
"""System -> its metrics in the order of `_SHOWN`."""


def score_systems(yardstick: Yardstick, final: Sequence[str], settings: Settings) -> Scored:
    """The final systems as far as the yardstick knows them; the models beside the rules where the rules are not the
    yardstick.
    """
    rules = yardstick.systems.get("rules")
    return {
        name: measure(yardstick.gold, yardstick.systems[name], _SHOWN, settings, rules if name != "rules" else None)
        for name in final
        if name in yardstick.systems
    }


def round_table(yardstick: Yardstick, number: int) -> Table | None:
    """Lenient F1 of every round of every variant; None where there are no rounds."""
    scores: dict[str, dict[int, float]] = {}
    for name, predicted in yardstick.systems.items():
        if name[:1].isupper() and name[1:].isdecimal():
            scores.setdefault(name[0], {})[int(name[1:])] = micro(yardstick.gold, predicted, "lenient").f1
    rounds = sorted({number_of_round for by_round in scores.values() for number_of_round in by_round})
    if len(rounds) < 2:
        return None
    rows = tuple(
        (f"self-train-{variant}", *(by_round.get(number_of_round) for number_of_round in rounds))
        for variant, by_round in sorted(scores.items())
    )
    columns = ("variant", *(f"round {number_of_round}" for number_of_round in rounds))
    return Table(f"by-round{_suffix(number)}", f"Lenient F1 by round, by {yardstick.name}", columns, rows)


def paper_table(yardstick: Yardstick, done: Scored, number: int) -> Table:
    """Table 5: example-based A, P, R and F1, and what each system gains on the rules."""
    rows: list[tuple[Cell, ...]] = [
        (name, len(yardstick.gold), *_values(paper, *_EXAMPLE_BASED), *_interval(paper), *_gain(paper))
        for name, (paper, *_) in done.items()
    ]
    ceiling = next(iter(done.values()))[0].ceiling if done else 100.0
    empty = sum(not answers for answers in yardstick.gold.values())
    note = (
        "From, to: the 95% interval. Example-based, the mean over reviews (Zhang and Zhou 2014, as the paper's "
        "released scorer computes it). "
    )
    note += (
        f"A review without gold triplets counts 0, so that nothing can pass {ceiling:.1f}: {empty} of "
        f"{len(yardstick.gold):,} are empty."
    )
    columns = ("system", "reviews", "A", "P", "R", "F1", "F1 from", "F1 to", *_GAINS)
    title = f"Table 5 of the paper: systems by {yardstick.name} ({yardstick.split} split)"
    return _table(f"table-5{_suffix(number)}", title, columns, rows, note)


def micro_table(yardstick: Yardstick, done: Scored, number: int) -> Table:
    """Micro scores, exact and lenient."""
    rows: list[tuple[Cell, ...]] = [
        (name, *_values(exact, "f1"), *_values(lenient, "precision", "recall", "f1"), *_interval(lenient),
         *_values(pair, "f1"), *_values(polarity, "accuracy"), *_gain(lenient))
        for name, (_, exact, lenient, pair, polarity) in done.items()
    ]  # fmt: skip
    columns = (
        "system", "exact F1", "lenient P", "lenient R", "lenient F1", "F1 from", "F1 to", "pair F1", "polarity right",
        *_GAINS,
    )  # fmt: skip
    note = (
        "Micro-averaged triplets. Lenient: one aspect contains the other and the opinions are near (the reference "
        "scorer's match). "
    )
    note += "Pair: without the polarity. From, to: the 95% interval."
    if any(metric.against for own in done.values() for metric in own):
        note += " Gain: lenient F1 less that of the rules, paired by review; p by a permutation test."
    return _table(f"scores{_suffix(number)}", f"Micro scores by {yardstick.name}", columns, rows, note)


def sign_scores(yardstick: Yardstick, done: Scored) -> list[tuple[str, str]]:
    """(of what, signature), those that differ in the part only together."""
    signed = [scored.signature for own in done.values() for scored in own]
    return [
        (f"{signature.partition('|match:')[2].partition('|')[0]}, {yardstick.name}", signature)
        for signature in together(signed)
    ]


def template_table(
    rules: Answers, systems: Mapping[str, Answers], accepted: Mapping[str, float], split: str, settings: Settings
) -> Table:
    """Table 3: each model against the rules' output it was taught, in the paper's metric, with the share the
    discriminator calls YY.
    """
    rows: list[tuple[Cell, ...]] = []
    for name, predicted in systems.items():
        (paper,) = measure(rules, predicted, _SHOWN[:1], Settings(settings.mode, 0, settings.seed))
        shown = sum(map(len, predicted.values())), accepted.get(name)
        rows.append((name, *shown, *_values(paper, *_EXAMPLE_BASED)))
    note = (
        f"Against the rules' output of the {split} split, as in the paper: fidelity to the rules, not quality. "
        "template-1 and template-2 learnt from all of the rules' triplets of train "
        "(`paper.compare_templates`); the others are the last models of the variants."
    )
    columns = ("model", "triplets", "YY %", "A", "P", "R", "F1")
    title = "Table 3 of the paper: models against the rules that taught them"
    return Table("table-3", title, columns, tuple(rows), note, _NO_MODEL)


_GAINS = ("gain on rules", "gain from", "gain to", "p")
_EXAMPLE_BASED = ("accuracy", "precision", "recall", "f1")


def _values(measured: SystemScores, *names: str) -> list[float]:
    return [measured.values[name].value for name in names]


def _gain(measured: SystemScores) -> tuple[Cell, ...]:
    """Points, their 95% interval, and p as text: three places, where the rest has one."""
    if measured.against is None:
        return None, None, None, None
    return measured.against.value, measured.against.low, measured.against.high, f"{measured.against.p:.3f}"


def _interval(measured: SystemScores) -> tuple[Cell, Cell]:
    last = list(measured.values.values())[-1]
    return last.low, last.high


def _table(name: str, title: str, columns: tuple[str, ...], rows: list[tuple[Cell, ...]], note: str) -> Table:
    """Without the columns of the gain where nothing was compared with the rules."""
    kept = [i for i, column in enumerate(columns) if column not in _GAINS or any(row[i] is not None for row in rows)]
    shown = tuple(tuple(row[i] for i in kept) for row in rows)
    return Table(name, title, tuple(columns[i] for i in kept), shown, note)


def _suffix(number: int) -> str:
    return "" if number == 1 else f"-{number}"
