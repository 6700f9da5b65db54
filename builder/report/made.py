"""Sections on what was made: in and out, triplets, growth, rules and lexicons, words, and how the build ran. From the
database alone.
"""

from __future__ import annotations

import json
import re
import sqlite3
from collections import Counter, defaultdict
from pathlib import PurePath

from builder.report.blocks import Cell, ChartLine, ReportFigure, Section, Table
from builder.report.yardsticks import final_systems
from builder.store import released, runs
from builder.store import report as asked
from builder.text import converter

_ENTRY = re.compile(r"(?P<word>\S+) .*\((?P<file>[\w/.-]+):\d+\)$")
_KEPT_SETTINGS = ("seed", "rules.convention", "annotate.backend", "discriminate.", "self_train.", "ingest.", "release.")


def in_and_out(connection: sqlite3.Connection) -> Section:
    """Rows read, dropped and kept; rejects by reason; what is in the release."""
    done = runs.runs(connection)
    counts = done["ingest"].counts if "ingest" in done else {}
    rows: list[tuple[Cell, ...]] = []
    if counts:
        rows = [("rows read", _int(counts["rows"]), 100.0)]
        stored = [
            ("rejected", counts["rejected"]),
            ("repeat another review", counts["duplicates"]),
            ("distinct reviews", counts["reviews"]),
        ]
        rows += [(name, _int(n), _percent(_int(n), _int(counts["rows"]))) for name, n in stored]
        covered = asked.totals(connection)[3]
        rows += [("with a candidate triplet", covered, _percent(covered, _int(counts["rows"])))]
        out = released.totals(connection)
        shown = ("reviews", "reviews with a triplet", "unverified negatives") if out["reviews"] else ()
        rows += [(f"released {name}", out[name], _percent(out[name], _int(counts["rows"]))) for name in shown]
    flow = Table(
        "in-and-out",
        "From rows to reviews with triplets",
        ("step", "number", "percent of rows"),
        tuple(rows),
        look="bars",
        missing="Nothing ingested yet: `builder build`.",
    )
    left = [
        (f"{stage}: {reason}", n, "triplets" if stage == "release" else "rows")
        for stage, reason, n in asked.rejected(connection)
    ]
    left += [(f"ingest: duplicate, {kind}", n, "rows") for kind, n in asked.duplicates(connection)]
    left.sort(key=lambda row: (row[2], -_int(row[1])))
    note = "Nothing is lost: rejected rows stay in the table `rejected` with their text, duplicates in `reviews` with the first of them."
    columns = ("stage: reason", "number", "of")
    rejected = Table(
        "rejects", "What was left out, by stage and reason", columns, tuple(left), note, "Nothing was left out."
    )
    lead = _lead_in(counts)
    return Section("in-and-out", "What went in, what came out", lead, (flow, rejected, _released(connection)))


def _lead_in(counts: runs.Counts) -> str:
    if not counts:
        return "Nothing was ingested yet."
    return f"{_int(counts['rows']):,} rows became {_int(counts['reviews']):,} distinct reviews: {_int(counts['train']):,} to train on, {_int(counts['valid']):,} to choose by, {_int(counts['test']):,} to test on."


def _released(connection: sqlite3.Connection) -> Table:
    """Triplets of the release by split, and what it leaves out."""
    done = runs.runs(connection).get("release")
    rows: tuple[tuple[Cell, ...], ...] = ()
    if done:
        rows = tuple((name, done.counts[name]) for name in ("train", "valid", "test") if name in done.counts)
    version = f" {done.counts['version']}" if done else ""
    missing = "Nothing released yet: `builder run release`."
    return Table("release", f"Triplets in release{version}", ("split", "triplets"), rows, look="bars", missing=missing)


def triplets(connection: sqlite3.Connection) -> Section:
    """Triplets by source, polarity and split (Table 2), and how many a review has."""
    by_source = asked.by_source(connection)
    whole: dict[str, list[int]] = {}
    for name, _, *numbers in by_source:
        kept = whole.setdefault(str(name), [0] * 5)
        whole[str(name)] = [a + _int(b) for a, b in zip(kept, numbers, strict=True)]
    columns = ("source", "reviews", "triplets", "POS", "NEG", "NEU")
    rows: tuple[tuple[Cell, ...], ...] = tuple((name, *numbers) for name, numbers in whole.items())
    sources = Table(
        "by-source",
        "Candidates by source and polarity",
        columns,
        rows,
        look="polarity",
        missing="No triplets yet: `builder run seed`.",
    )
    kinds = {source.name: source.kind for source in asked.sources(connection)}
    split: tuple[tuple[Cell, ...], ...] = tuple(row[1:] for row in by_source if kinds[str(row[0])] == "rules")
    note = "The rules' triplets: what the discriminator and the first model learn from."
    table_2 = Table(
        "table-2",
        "Table 2 of the paper: reviews and triplets by split",
        ("split", *columns[1:]),
        split,
        note=note,
        look="polarity",
        missing=sources.missing,
    )
    rules = next((source for source in asked.sources(connection) if source.kind == "rules"), None)
    counted = tuple((_int(n), _int(many)) for n, many in asked.per_review(connection, rules.id)) if rules else ()
    number, aspects, opinions, covered = asked.totals(connection)
    out = released.totals(connection)["triplets"]
    outcome = f"; {out:,} of them are released" if out else "; nothing is released yet"
    lead = f"{number:,} different candidates in {covered:,} reviews, with {aspects:,} different aspects and {opinions:,} different opinions, from all sources together{outcome}."
    return Section("triplets", "Triplets", lead, (sources, table_2), (_histogram(counted),) if counted else ())


def _histogram(counted: tuple[tuple[int, int], ...]) -> ReportFigure:
    """Ten and more together."""
    bins = Counter[int]()
    for n, many in counted:
        bins[min(n, 10)] += many
    about = ", ".join(f"{many:,} reviews with {n}{' or more' if n == 10 else ''}" for n, many in sorted(bins.items()))
    return ReportFigure(
        "per-review",
        "Triplets of the rules per review",
        about,
        "triplets (10: ten or more)",
        "reviews",
        histogram=tuple(sorted(bins.items())),
    )


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
            _percent(done.accepted, done.predicted),
            round(done.seconds, 1),
        )
        for done in rounds
    )
    columns = ("model", "reviews", "triplets in S", "proposed", "accepted", "new", "accepted %", "seconds")
    note = "S: the training set. Round 0 takes the rules' triplets (A and C: those the discriminator calls YY); later rounds add what the last model proposes and the variant accepts."
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
        "Self-training adds what its models find to what the rules found." if rounds else "Self-training has not run."
    )
    return Section(
        "growth",
        "Self-training",
        lead,
        (Table("rounds", "Rounds of self-training", columns, rows, note=note, missing=missing),),
        (figure,) if rounds else (),
    )


def contribution(connection: sqlite3.Connection, most: int = 20) -> Section:
    """What each rule and each lexicon file gave."""
    rules = Table(
        "by-rule", "Candidates by pairing rule", ("rule", "triplets", "POS", "NEG", "NEU", "accepted %"), tuple(asked.by_rule(connection)),
        note="Accepted: the share of all that the discriminator calls YY. `builder rules` shows overlaps and conflicts.", look="polarity", missing="No triplets yet: `builder run seed`.",
    )  # fmt: skip
    used: dict[str, list[int]] = defaultdict(lambda: [0, 0])
    for _, detail, times in asked.evidence(connection):
        entry = _ENTRY.match(detail)
        name = (
            entry["file"]
            if entry
            else "nouns in no lexicon"
            if detail.endswith("unlisted noun")
            else "compounds, made by rule"
        )
        used[name] = [used[name][0] + times, used[name][1] + 1]
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
        (rules, lexicons),
    )


def words(connection: sqlite3.Connection, limit: int = 25) -> Section:
    """The aspects and opinions in most triplets; the two scripts of a word together, under the one that is written
    more.
    """
    tables = []
    for column in ("aspect", "opinion"):
        head = (column, "triplets", "POS", "NEG", "NEU")
        rows = _one_script(asked.words(connection, column), limit)
        tables.append(
            Table(
                f"top-{column}s",
                f"Top {column}s",
                head,
                rows,
                look="polarity",
                missing="No triplets yet: `builder run seed`.",
            )
        )
    whose = (
        "released triplets"
        if released.totals(connection)["triplets"]
        else "candidates of all sources, for nothing is released yet"
    )
    lead = f"By the number of {whose}; Traditional and Simplified forms of a word count as one."
    return Section("words", "What people talk about, and how", lead, tuple(tables))


def _one_script(counted_words: list[tuple[str, int, int, int, int]], limit: int) -> tuple[tuple[Cell, ...], ...]:
    """Only words frequent enough to get into the table, or to bring another one in, are converted."""
    simplified = converter("t2s")
    kept: dict[str, tuple[str, list[int]]] = {}
    for word, *numbers in counted_words[: 40 * limit]:
        _, sums = kept.setdefault(simplified(word), (word, [0] * 4))
        sums[:] = [a + b for a, b in zip(sums, numbers, strict=True)]
    ordered = sorted(kept.values(), key=lambda entry: (-entry[1][0], entry[0]))
    return tuple((word, *sums) for word, sums in ordered[:limit])


def sharing(connection: sqlite3.Connection) -> Section:
    """How much of one source's triplets another finds too, at the very place and with the same polarity."""
    by_name = {source.name: source for source in asked.sources(connection)}
    people = [source.name for source in by_name.values() if source.kind == "human"]
    chosen = [by_name[name] for name in (*people, *final_systems(connection)) if name in by_name]
    shared = asked.overlaps(connection, [source.id for source in chosen])
    rows = tuple(
        (
            source.name,
            *(
                100.0 * shared.get((source.id, other.id), 0) / shared[source.id, source.id]
                if (source.id, source.id) in shared
                else None
                for other in chosen
            ),
        )
        for source in chosen
    )
    note = "Percent of the row's triplets that the column proposes too: same places in the text, same polarity. People label the test split alone, so their column is low."
    table = Table(
        "sharing",
        "How far the sources agree",
        ("source", *(source.name for source in chosen)),
        rows,
        note=note,
        look="matrix",
        missing="Only one source yet.",
    )
    return Section(
        "sharing",
        "Agreement of the sources",
        "Where two independent sources agree, a triplet is more likely right.",
        (table,),
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
        "running", "How it was made", f"{total / 60:.1f} minutes of computing in all.", (times, signatures, settings)
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


def _int(value: object) -> int:
    assert isinstance(value, int), f"a count is {value!r}"
    return value


def _percent(part: int, whole: int) -> float:
    return 100.0 * part / max(1, whole)
