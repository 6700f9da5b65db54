"""Sections on how the dataset was made, and by which judge.

In: the open database, and yardsticks. Out: sections of tables. They show self-training, rules and lexicons,
times, settings and signatures. The section on the discriminator shows its data, its verdicts, and how right these are
(Tables 1 and 4, Figure 6).
"""

from __future__ import annotations

import json
import sqlite3
from collections import Counter, defaultdict
from pathlib import PurePath
from typing import Any

from builder.core.records import VERDICTS
from builder.pages.report.blocks import Cell, Section, Table, percent, spoken_seconds
from builder.pages.report.yardsticks import NO_GOLD, Yardstick, final_systems
from builder.store import pool_labels, reviews, runs
from builder.store import report as asked
from builder.store.pool_labels import LabelPool

# ---- Self-training, rules, times and settings

_KEPT_SETTINGS = ("seed", "rules.convention", "annotate.backend", "discriminate.", "self_train.", "ingest.", "release.")
_MOST_FILES = 20


def growth(connection: sqlite3.Connection) -> Section:
    """Figure 7: the training set of every variant, round by round."""
    rounds = runs.rounds(connection)
    rows = tuple(
        (f"{done.variant}{done.round}", done.reviews, done.triplets, done.predicted, done.accepted, done.added,
         percent(done.accepted, done.predicted), round(done.seconds, 1))
        for done in rounds
    )  # fmt: skip
    columns = ("model", "reviews", "triplets in S", "proposed", "accepted", "new", "accepted %", "seconds")
    note = (
        "S: the training set. Round 0 takes the rules' triplets (A and C: those the discriminator calls YY); later "
        "rounds add what the last model proposes and the variant accepts."
    )
    missing = (
        'No round yet: `builder run self_train`; all variants with --set \'self_train.variants=["A","B","C","D"]\'.'
    )
    tables = [Table("rounds", "Rounds of self-training", columns, rows, note=note, missing=missing)]
    if any(done.round for done in rounds):
        drawn = tuple((f"self-train-{done.variant}, round {done.round}", done.triplets) for done in rounds)
        title = "Figure 7 of the paper: triplets in the training set"
        tables.insert(0, Table("figure-7", title, ("training set", "triplets"), drawn, look="bars"))
    lead = (
        "Self-training adds what its models find to what the rules found. Variant E has one round."
        if rounds
        else "Self-training has not run."
    )
    return Section("growth", "Self-training", lead, tuple(tables))


def contribution(connection: sqlite3.Connection, analysis: Table) -> Section:
    """What each rule and each lexicon file gave; `analysis` says how the rules share their work."""
    missing = "No triplets yet: `builder run seed`."
    columns, outcomes = asked.kept_by_rule(connection)
    kept = Table(
        "kept-by-rule", "What became of each rule's triplets",
        tuple(column.replace("_percent", " %") for column in columns), tuple(outcomes),
        note="Dropped by the judge or by the release; `builder query dropped` lists them with reason, score and limit."
            " A replaced one has given way to a triplet of the same place.",
        missing=missing,
    )  # fmt: skip
    used: dict[str, list[int]] = defaultdict(lambda: [0, 0])
    for entry, known, times, words in asked.lexicon_uses(connection):
        unlisted = "compounds, made by rule" if known else "nouns in no lexicon"
        name = entry.rpartition(":")[0] if entry else unlisted
        used[name] = [used[name][0] + times, used[name][1] + words]
    ordered = sorted(used.items(), key=lambda item: (-item[1][0], item[0]))
    rows: list[tuple[Cell, ...]] = [(name, uses, words) for name, (uses, words) in ordered[:_MOST_FILES]]
    if rest := ordered[_MOST_FILES:]:
        uses, words = (sum(column) for column in zip(*(counts for _, counts in rest), strict=True))
        rows.append((f"{len(rest)} other files", uses, words))
    columns = ("file", "uses", "different entries")
    note = "Each rule triplet uses an aspect and an opinion."
    lexicons = Table("by-lexicon", "Uses of the lexicons, by file", columns, tuple(rows), note, missing, "bars")
    lead = "Which rule paired aspect and opinion, and which lexicon file knew the words."
    return Section("contribution", "Rules and lexicons", lead, (kept, analysis, lexicons))


def running(connection: sqlite3.Connection, lexicon: str) -> Section:
    """Times of the stages, settings, and the signature of whatever changes a result."""
    done = runs.runs(connection)
    rows = tuple((run.stage, round(run.seconds, 1), run.finished, describe_counts(run.counts)) for run in done.values())
    columns = ("stage", "seconds", "finished (UTC)", "counts")
    times = Table("times", "Stages", columns, rows, missing="No stage is finished: `builder status`.")
    signed = [(run.name, run.kind, run.signature) for run in asked.sources(connection)]
    signed += [("words", "annotations", backend)] if (backend := reviews.backend(connection)) else []
    signed += [("lexicons", "of this report", lexicon)]
    signed += [(str(version), "release", str(digest)) for version, digest in asked.releases(connection)]
    note = "Two builds with the same signatures hold the same triplets."
    signatures = Table("signatures", "Signatures", ("of", "kind", "signature"), tuple(signed), note, look="signatures")
    kept = ((key, json.dumps(value, ensure_ascii=False)) for key, value in sorted(read_config(connection).items()))
    inputs = json.loads(runs.setting(connection, "build") or "{}").get("inputs", [])
    shown = (  # what changes the result; paths of the machine stay out, file names are kept
        *(("input", PurePath(path).name) for path in inputs),
        *((key, value) for key, value in kept if key.startswith(_KEPT_SETTINGS)),
    )
    missing = "No build was begun here."
    settings = Table("settings", "Settings", ("setting", "value"), shown, missing=missing, look="signatures")
    lead = f"It took {spoken_seconds(sum(run.seconds for run in done.values()))} in all."
    return Section("running", "How it was made", lead, (times, signatures, settings))


def read_config(connection: sqlite3.Connection) -> dict[str, Any]:
    """The settings, by dotted key, of the build that the working directory was made by."""
    build = json.loads(runs.setting(connection, "build") or "{}")
    return dict(build.get("config", {}))


def config(connection: sqlite3.Connection, key: str, default: str) -> str:
    """One setting of that build."""
    return str(read_config(connection).get(key) or default)


def describe_counts(counts: runs.Counts) -> str:
    """Counts of a stage as one line; of a path only the name."""
    kept = {name: PurePath(str(value)).name if name == "path" else value for name, value in counts.items()}
    return ", ".join(
        f"{name} {value:,}" if isinstance(value, int) else f"{name} {value}" for name, value in kept.items()
    )


# ---- The discriminator

NO_JUDGE = (
    "No model judged: none is shipped for these words and rules, the profile is `rules`, or `builder run discriminate` "
    "is due."
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
    shown = {*(source.name for source in asked.sources(connection) if source.kind == "gold")}
    shown |= {*final_systems(connection)}
    rows = tuple(
        (*row, percent(int(row[2] or 0), int(row[1] or 0)))
        for row in (asked.accepted(connection, judge.id) if judge else ())
        if row[0] in shown
    )
    title = f"What the {runs.judge(connection) or 'discriminator'} says, by who proposed"
    columns = ("source", "judged", "YY", "YN", "NX", "abstained", "YY %")
    verdicts = Table("verdicts", title, columns, rows, missing=NO_JUDGE)
    tables = [verdicts, table_1]
    for number, yardstick in enumerate((yardstick for yardstick in yardsticks if yardstick.quality), start=1):
        tables += [_confusion(yardstick, number)]
    pools = enumerate(pool_labels.labelled_pools(connection), start=1)
    tables += [_labelling(pool, number) for number, pool in pools if pool.final]
    if len(tables) == 2:
        title = "Figure 6 of the paper: the discriminator against people"
        tables.append(Table("figure-6", title, ("people say",), (), missing=NO_GOLD))
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
    title = f"Figure 6 of the paper: the discriminator by {yardstick.name}"
    return Table(name, title, columns, rows if yardstick.verdicts else (), note, NO_JUDGE, "matrix")


def _of(part: int, whole: int) -> str:
    return f"{part:,} of {whole:,} ({100 * part / whole:.0f}%)" if whole else "none of no"


def _labelling(pool: LabelPool, number: int) -> Table:
    """Table 4: the labels of each annotator, and how often they are people's final ones: of the pair, and of the
    whole triplet.
    """
    proposed = (candidate for review in pool.pool.reviews for candidate in review.candidates if candidate.sources)
    everything: dict[int, str] = {candidate.id: "YY" for candidate in proposed}
    methods = {"all taken as right": everything} | {
        name: {i: str(label.label) for i, label in decisions.items()} for name, decisions in pool.labels.items()
    }
    rows: list[tuple[Cell, ...]] = []
    for name, decisions in methods.items():
        both = [(label, pool.final[i].label) for i, label in decisions.items() if i in pool.final and i in everything]
        count = Counter(label for label, _ in both)
        pair = sum((label == "NX") == (due == "NX") for label, due in both)
        whole = sum(label == due for label, due in both)
        shares = percent(pair, len(both)), percent(whole, len(both))
        rows.append((name, pool.kinds.get(name, ""), len(both), *(count[label] for label in VERDICTS), *shares))
    columns = ("method", "kind", "labels", "YY", "YN", "NX", "(a, o) right %", "(a, o, p) right %")
    note = (
        "Against what people decided (adjudicated, else the majority). (a, o): whether there is a pair; (a, o, p): "
        "the very label."
    )
    name = "table-4" + ("" if number == 1 else f"-{number}")
    title = f"Table 4 of the paper: labelling methods on pool {pool.pool.id}"
    return Table(name, title, columns, tuple(rows), note)
