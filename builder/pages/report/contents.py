"""Sections on what the dataset holds: rows in and out, triplets.

In: the open database. Out: sections of tables.
"""

from __future__ import annotations

import sqlite3
from collections import Counter

from builder.core.wording import counted
from builder.pages.report.blocks import Cell, Section, Table, percent, whole_number
from builder.pages.report.process import read_config
from builder.pages.report.yardsticks import final_systems
from builder.reviews import masking as privacy
from builder.store import released, runs
from builder.store import report as asked

_MOST_MASKED = 20
"""Reviews that are masked to see whether an aspect may be shown."""


def in_and_out(connection: sqlite3.Connection) -> Section:
    """Rows read, dropped and kept; rejects by reason; what is in the release."""
    done = runs.runs(connection)
    counts = done["ingest"].counts if "ingest" in done else {}
    rows: list[tuple[Cell, ...]] = []
    if counts:
        names = {"rows read": "rows", "rejected": "rejected", "repeat another review": "duplicates"}
        numbers = {name: counts[key] for name, key in {**names, "distinct reviews": "reviews"}.items()}
        numbers["with a candidate triplet"], out = asked.totals(connection)[3], released.totals(connection)
        shown = ("reviews", "reviews with a triplet", "unverified negatives") if out["reviews"] else ()
        numbers |= {f"released {name}": out[name] for name in shown}
        whole = whole_number(counts["rows"])
        rows = [(name, whole_number(n), percent(whole_number(n), whole)) for name, n in numbers.items()]
    columns, missing = ("step", "number", "percent of rows"), "Nothing ingested yet: `builder build`."
    flow = Table("in-and-out", "From rows to reviews with triplets", columns, tuple(rows), missing=missing, look="bars")
    left = [
        (f"{stage}: {reason}", n, "rows" if stage == "ingest" else "triplets")
        for stage, reason, n in asked.rejected(connection)
    ]
    left += [(f"ingest: duplicate, {kind}", n, "rows") for kind, n in asked.duplicates(connection)]
    left.sort(key=lambda row: (row[2], -whole_number(row[1])))
    note = (
        "Nothing is lost: rejected rows stay in the table `rejected` with their text, duplicates in `reviews` with "
        "the first of them."
    )
    title, columns = "What was left out, by stage and reason", ("stage: reason", "number", "of")
    rejected = Table("rejects", title, columns, tuple(left), note, "Nothing was left out.")
    tables = (flow, rejected, _distribution(connection))
    return Section("in-and-out", "What went in, what came out", _lead_in(counts), tables)


def _lead_in(counts: runs.Counts) -> str:
    if not counts:
        return "Nothing was ingested yet."
    return (
        f"{counted(whole_number(counts['rows']), 'row')} became "
        f"{counted(whole_number(counts['reviews']), 'distinct review')}: {whole_number(counts['train']):,} to train "
        f"on, {whole_number(counts['valid']):,} to choose by, {whole_number(counts['test']):,} to test on."
    )


_UNRELEASED = "Nothing released yet: `builder run release`."
_NO_TRIPLETS = "No triplets yet: `builder run seed`."


def _distribution(connection: sqlite3.Connection) -> Table:
    """Table 7: the reviews of each split and layer of the release, what proposed their triplets, and who labelled."""
    config = read_config(connection)
    variant = config.get("release.train_source") or (config.get("self_train.variants") or ["E"])[0]
    judge = runs.judge(connection)
    together = f"rules and {judge}" if judge else "rules"
    together = together if variant == "E" else f"rules and self-train-{variant}"
    sources = {"train": f"self-train-{variant}", "valid": "rules"} if variant != "E" else {}
    layers = released.labelled_by(connection)
    rows: list[tuple[Cell, ...]] = []
    for split, annotation, reviews, number in released.layers(connection):
        labelled_by = layers.get(annotation, "") if split == "test" else ""
        systems = final_systems(connection)
        union = f"union of {', '.join(systems)}" if "pool" in labelled_by and len(systems) > 1 else together
        rows.append((split, annotation, reviews, number, sources.get(split, union), labelled_by or "-"))
    columns = ("split", "layer", "reviews", "triplets", "source", "golden answer by")
    title = "Table 7 of the paper: the dataset"
    return Table("table-7", title, columns, tuple(rows), missing=_UNRELEASED)


def triplets(connection: sqlite3.Connection) -> Section:
    """Triplets by source, polarity and split (Table 2), and how many a review has."""
    by_source = asked.by_source(connection)
    whole: dict[str, list[int]] = {}
    for name, _, *numbers in by_source:
        kept = whole.setdefault(str(name), [0] * 5)
        whole[str(name)] = [a + whole_number(b) for a, b in zip(kept, numbers, strict=True)]
    counted_columns = ("reviews", "triplets", "POS", "NEG", "NEU")
    by_split, by_name, missing = ("split", *counted_columns), ("source", *counted_columns), _NO_TRIPLETS
    rows: tuple[tuple[Cell, ...], ...] = tuple((name, *numbers) for name, numbers in whole.items())
    sources = Table("by-source", "Candidates by source and polarity", by_name, rows, missing=missing, look="polarity")
    kinds = {source.name: source.kind for source in asked.sources(connection)}
    split: tuple[tuple[Cell, ...], ...] = tuple(row[1:] for row in by_source if kinds[str(row[0])] == "rules")
    note = "The rules' triplets: what a discriminator and a first model learn from, where they are trained."
    title = "Table 2 of the paper: reviews and triplets by split"
    table_2 = Table("table-2", title, by_split, split, note, missing, "polarity")
    rules = next((source for source in asked.sources(connection) if source.kind == "rules"), None)
    by_number = asked.per_review(connection, rules.id) if rules else []
    title, rows_out = "Released triplets by split and polarity", tuple(released.by_polarity(connection))
    release = Table("released", title, by_split, rows_out, missing=_UNRELEASED, look="polarity")
    number, aspects, opinions, covered = asked.totals(connection)
    out = released.totals(connection)["triplets"]
    outcome = f"; {out:,} of them are released" if out else "; nothing is released yet"
    lead = (
        f"{counted(number, 'different candidate')} in {counted(covered, 'review')}, with "
        f"{counted(aspects, 'different aspect')} and {counted(opinions, 'different opinion')}, from all sources "
        f"together{outcome}."
    )
    tables = (release, sources, table_2, *([_count_per_review(by_number)] if len(by_number) > 1 else []))
    return Section("triplets", "Triplets: released, and proposed", lead, tables)


def _count_per_review(reviews_by_number: asked.Rows) -> Table:
    """Ten and more together."""
    bins = Counter[int]()
    for n, many in reviews_by_number:
        bins[min(whole_number(n), 10)] += whole_number(many)
    rows = tuple((f"with {n}{' or more' if n == 10 else ''}", many) for n, many in sorted(bins.items()))
    return Table("per-review", "Triplets of the rules per review", ("reviews", "number"), rows, look="bars")


def names_nobody(connection: sqlite3.Connection, aspect: str) -> bool:
    """Whether an aspect stands in its reviews as it does where names of people and other personal data are masked."""
    read = asked.reviews_with(connection, aspect, _MOST_MASKED)
    masked = ((text, privacy.mask(text, [place] if place else []).text) for text, place in read)
    return all(aspect not in text or aspect in shown for text, shown in masked)
