"""Sections on how the dataset was made: self-training, rules and lexicons, times, settings and signatures.

In: the open database. Out: sections of tables and figures.
"""

from __future__ import annotations

import json
import sqlite3
from collections import defaultdict
from pathlib import PurePath

from builder.pages.report.blocks import Cell, ChartLine, ReportFigure, Section, Table, percent, spoken_seconds
from builder.store import browse, runs
from builder.store import report as asked

_KEPT_SETTINGS = ("seed", "rules.convention", "annotate.backend", "discriminate.", "self_train.", "ingest.", "release.")


def growth(connection: sqlite3.Connection) -> Section:
    """Figure 7: the training set of every variant, round by round."""
    rounds = runs.rounds(connection)
    rows = tuple(
        (
            f"{done.variant}{done.round}",
            done.reviews,
            done.triplets,
            done.predicted,
            done.accepted,
            done.added,
            percent(done.accepted, done.predicted),
            round(done.seconds, 1),
        )
        for done in rounds
    )
    columns = ("model", "reviews", "triplets in S", "proposed", "accepted", "new", "accepted %", "seconds")
    note = (
        "S: the training set. Round 0 takes the rules' triplets (A and C: those the discriminator calls YY); later "
        "rounds add what the last model proposes and the variant accepts."
    )
    missing = (
        'No round yet: `builder run self_train`; all variants with --set \'self_train.variants=["A","B","C","D"]\'.'
    )
    lines: dict[str, list[tuple[float, float]]] = defaultdict(list)
    for done in rounds:
        lines[f"self-train-{done.variant}"].append((done.round, done.triplets))
    about = "; ".join(f"{name}: " + ", ".join(f"{y:,.0f}" for _, y in points) for name, points in lines.items())
    figure = ReportFigure(
        "figure-7",
        "Figure 7 of the paper: triplets in the training set",
        about,
        "round",
        "triplets",
        tuple(ChartLine(name, tuple(points)) for name, points in lines.items()),
    )
    lead = (
        "Self-training adds what its models find to what the rules found. Variant E has one round."
        if rounds
        else "Self-training has not run."
    )
    return Section(
        "growth",
        "Self-training",
        lead,
        (Table("rounds", "Rounds of self-training", columns, rows, note=note, missing=missing),),
        (figure,) if any(len(points) > 1 for points in lines.values()) else (),
    )


def contribution(connection: sqlite3.Connection, analysis: Table, most: int = 20) -> Section:
    """What each rule and each lexicon file gave; `analysis` says how the rules share their work."""
    rules = Table(
        "by-rule", "Candidates by pairing rule", ("rule", "triplets", "POS", "NEG", "NEU", "accepted %"),
        tuple(asked.by_rule(connection)),
        note="Accepted: the share of all that the judge calls YY. Two machines agree there: this is no accuracy."
            f" {browse.judge_doubt(connection)}".rstrip(),
        look="polarity", missing="No triplets yet: `builder run seed`.",
    )  # fmt: skip
    columns, outcomes = asked.kept_by_rule(connection)
    kept = Table(
        "kept-by-rule", "What became of each rule's triplets", columns, tuple(outcomes),
        note="Dropped by the judge or by the release; `builder query dropped` lists them with reason, score and limit."
            " A replaced one has given way to a triplet of the same place.",
        missing=rules.missing,
    )  # fmt: skip
    used: dict[str, list[int]] = defaultdict(lambda: [0, 0])
    for entry, known, times, words in asked.lexicon_uses(connection):
        unlisted = "compounds, made by rule" if known else "nouns in no lexicon"
        name = entry.rpartition(":")[0] if entry else unlisted
        used[name] = [used[name][0] + times, used[name][1] + words]
    ordered = sorted(used.items(), key=lambda item: (-item[1][0], item[0]))
    rows: list[tuple[Cell, ...]] = [(name, uses, words) for name, (uses, words) in ordered[:most]]
    if rest := ordered[most:]:
        rows.append(
            (f"{len(rest)} other files", sum(uses for _, (uses, _) in rest), sum(words for _, (_, words) in rest))
        )
    columns = ("file", "uses", "different entries")
    note = "Each rule triplet uses an aspect and an opinion."
    lexicons = Table("by-lexicon", "Uses of the lexicons, by file", columns, tuple(rows), note, rules.missing, "bars")
    return Section(
        "contribution",
        "Rules and lexicons",
        "Which rule paired aspect and opinion, and which lexicon file knew the words.",
        (rules, kept, analysis, lexicons),
    )


def running(connection: sqlite3.Connection, lexicon: str) -> Section:
    """Times of the stages, settings, and the signature of whatever changes a result."""
    done = runs.runs(connection)
    rows = tuple((run.stage, round(run.seconds, 1), run.finished, describe_counts(run.counts)) for run in done.values())
    times = Table(
        "times",
        "Stages",
        ("stage", "seconds", "finished (UTC)", "counts"),
        rows,
        missing="No stage is finished: `builder status`.",
    )
    signed = [(run.name, run.kind, run.signature) for run in asked.sources(connection)]
    signed += [("words", "annotations", asked.backend(connection))] if asked.backend(connection) else []
    signed += [("lexicons", "of this report", lexicon)]
    signed += [(str(version), "release", str(digest)) for version, digest in asked.releases(connection)]
    signatures = Table(
        "signatures",
        "Signatures",
        ("of", "kind", "signature"),
        tuple(signed),
        note="Two builds with the same signatures hold the same triplets.",
        look="signatures",
    )
    settings = Table(
        "settings",
        "Settings",
        ("setting", "value"),
        tuple(_settings(connection)),
        look="signatures",
        missing="No build was begun here.",
    )
    total = sum(run.seconds for run in done.values())
    return Section(
        "running", "How it was made", f"It took {spoken_seconds(total)} in all.", (times, signatures, settings)
    )


def _settings(connection: sqlite3.Connection) -> list[tuple[Cell, ...]]:
    """What changes the result; paths of the machine stay out, file names are kept."""
    build = json.loads(runs.setting(connection, "build") or "{}")
    rows: list[tuple[Cell, ...]] = [("input", PurePath(path).name) for path in build.get("inputs", [])]
    for key, value in sorted(build.get("config", {}).items()):
        if key.startswith(_KEPT_SETTINGS):
            rows.append((key, json.dumps(value, ensure_ascii=False)))
    return rows


def config(connection: sqlite3.Connection, key: str, default: str) -> str:
    """A setting of the build that the working directory was made by."""
    build = json.loads(runs.setting(connection, "build") or "{}")
    return str(build.get("config", {}).get(key) or default)


def describe_counts(counts: runs.Counts) -> str:
    """Counts of a stage as one line; of a path only the name."""
    kept = {name: PurePath(str(value)).name if name == "path" else value for name, value in counts.items()}
    return ", ".join(
        f"{name} {value:,}" if isinstance(value, int) else f"{name} {value}" for name, value in kept.items()
    )
