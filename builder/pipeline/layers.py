"""Labels that people or language models gave, as a build uses them: test layers, the last audit, taught reviews.

Layers of the test split are gold, whoever labelled it, and silver that a language model labelled, as triplets of the
stored texts. In: what `evaluate.gold` and `evaluate.silver` name: a file, or a pool (`"pool:ID"`, `"pool:ID/MODEL"`).
`ingest` reads files to make their reviews the test split, and checks all of them. A pool is drawn from a build that has
its splits. `evaluate` stores each layer as the source of its name. A wrong line, id or span is an error, never a guess.

The last audit, measured, is what the stage release states of quality. Reads only.

Taught reviews are what a working directory was taught (`builder gold gain --teach`). In: `WORKDIR/taught.jsonl`, rows
of gold with their texts. Out: the labels of the reviews that the build holds.
"""

from __future__ import annotations

import hashlib
import sqlite3
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, cast

from builder.core.errors import ConfigError, InputError
from builder.core.files import parse_json, read_text
from builder.core.records import (
    POLARITIES,
    SPLITS,
    VALENCES,
    Element,
    Label,
    Polarity,
    Review,
    Triplet,
    polarity_of,
    surface,
)
from builder.core.settings import Evaluate
from builder.core.wording import ANNOTATORS, Annotators, counted, join_annotators, name_annotators
from builder.gold.agreement import AuditResult, describe_audit, measure_audit
from builder.gold.pool import PoolLayer, layer_of
from builder.pipeline.context import Context
from builder.reviews.text import in_order
from builder.store import db, pool_labels, pools, reviews

# ---- Layers of the test split and the last audit

PREFIX = "pool:"
SETTINGS = {"gold": "evaluate.gold", "silver": "evaluate.silver"}
"""Layer -> the setting that names it."""


def is_pool(value: str) -> bool:
    """Whether a setting names a pool; otherwise it names a file, or nothing."""
    return value.startswith(PREFIX)


def named_files(settings: Evaluate) -> dict[str, Path]:
    """Layer -> the file of labelled reviews that its setting names."""
    return {name: Path(value) for name, value in _values(settings).items() if value and not is_pool(value)}


def check_pools(workdir: Path, settings: Evaluate) -> None:
    """Fail before any work where a pool that the settings name cannot serve."""
    if not (named := _named_pools(settings)):
        return
    if not (workdir / db.NAME).is_file():
        layer, value = next(iter(named.items()))
        raise ConfigError(
            f"{value!r} names a pool, but there is no database yet",
            where=SETTINGS[layer],
            fix="build without it, then `builder gold pool` draws one from the test split",
        )
    with db.reading(workdir) as connection:
        for layer, value in named.items():
            read_finished(connection, layer, value)


def digest_labels(workdir: Path, settings: Evaluate) -> list[str]:
    """What people and models have said so far of the pools that the settings name."""
    named = _named_pools(settings)
    if not named or not (workdir / db.NAME).is_file():
        return [f"{layer} {value}" for layer, value in named.items()]
    with db.reading(workdir) as connection:
        known = [row[0] for row in pools.summarise(connection)]
        return [
            f"{layer} {value} {pool_labels.labels_digest(connection, pool)}"
            for layer, value in named.items()
            for pool in known
            if pool.startswith(value.removeprefix(PREFIX).partition("/")[0])
        ]


def _values(settings: Evaluate) -> dict[str, str]:
    return {"gold": settings.gold, "silver": settings.silver}


def _named_pools(settings: Evaluate) -> dict[str, str]:
    return {name: value for name, value in _values(settings).items() if is_pool(value)}


def read_finished(connection: sqlite3.Connection, layer: str, value: str) -> PoolLayer:
    """The layer that a setting names; ConfigError or InputError where it names nothing, or an unfinished pool."""
    where = SETTINGS[layer]
    asked, _, annotator = value.removeprefix(PREFIX).partition("/")
    pool_id = _known_pool(connection, asked, where)
    if layer == "silver":
        annotator = annotator or _only_model(connection, pool_id, where)
    read = read_layer(connection, pool_id, annotator, where)
    if read.name != layer:
        other = "people" if read.name == "gold" else "a language model"
        raise ConfigError(
            f"the labels of {annotator!r} are those of {other}", where=where, fix=f"name them in {SETTINGS[read.name]}"
        )
    if layer == "silver" and read.unasked:
        fix = f"`builder gold judge --pool {pool_id}` asks about the rest"
        raise InputError(
            f"pool {pool_id} is not finished: {annotator} has not labelled {counted(read.unasked, 'candidate')}",
            where=where,
            fix=fix,
        )
    if layer == "gold" and read.open:
        reviews = len(read.reviews) + read.open
        raise InputError(
            f"pool {pool_id} is not finished: {read.open:,} of {counted(reviews, 'review')} open",
            where=where,
            fix="label the rest (`builder gold annotate serve`), and decide disputes "
            "(`builder gold annotate adjudicate`)",
        )
    return read


def read_layer(
    connection: sqlite3.Connection, pool_id: str, annotator: str = "", where: str = "--annotator"
) -> PoolLayer:
    """The layer of a pool by what people decided, or by the labels of one annotator, finished or not."""
    people = pool_labels.of_pool(connection, pool_id, "human")
    if annotator:
        everyone = pool_labels.of_pool(connection, pool_id)
        if annotator not in everyone:
            known = ", ".join(everyone) or "nobody labelled it"
            raise ConfigError(f"{annotator!r} has no label in pool {pool_id}", where=where, fix=f"known: {known}")
        labels: Mapping[int, Label] = everyone[annotator]
    else:
        labels = {candidate: label for candidate, (label, _) in pool_labels.final(connection, pool_id).items()}
    names = [annotator] if annotator else list(people)
    checked = {review for name in names for review in pool_labels.checked(connection, pool_id, name)}
    pool = pools.read(connection, pool_id)
    silver = bool(annotator) and annotator not in people
    return layer_of(pool, labels, checked, silver=silver, annotator=annotator)


def _known_pool(connection: sqlite3.Connection, asked: str, where: str) -> str:
    known = [row[0] for row in pools.summarise(connection) if not pools.is_audit(connection, row[0])]
    matching = [pool for pool in known if pool.startswith(asked)] if asked else []
    if len(matching) == 1:
        return matching[0]
    there = f"there are {', '.join(known)}" if known else "`builder gold pool` draws one"
    what = f"{len(matching)} pools begin with {asked!r}" if matching else f"there is no pool {asked!r}"
    raise ConfigError(what, where=where, fix=there)


def _only_model(connection: sqlite3.Connection, pool_id: str, where: str) -> str:
    models = list(pool_labels.of_pool(connection, pool_id, "llm"))
    if len(models) == 1:
        return models[0]
    if not models:
        raise ConfigError(
            f"no language model labelled pool {pool_id}",
            where=where,
            fix=f"ask one: `builder gold judge --pool {pool_id}`",
        )
    raise ConfigError(
        f"{len(models)} language models labelled pool {pool_id}",
        where=where,
        fix=f'name one: "{PREFIX}{pool_id}/{models[0]}"',
    )


_LINES = 'each line is {"id": …, "text": …, "triplets": […], "annotators": …}, in UTF-8'
_SPANS = "name the spans of each element in the text; `builder gold gain` alone takes labels without spans"


@dataclass(frozen=True, slots=True)
class TestLayer:
    """A layer over stored reviews: its name, who labelled it, its reviews by row id and key, and (review, triplet)."""

    name: str
    labelled_by: str
    annotators: Annotators
    reviews: dict[int, str]
    triplets: list[tuple[int, Triplet]]

    @property
    def signature(self) -> str:
        """What decides the layer: who labelled it, and what its reviews hold by these labels."""
        held = [(self.reviews[review], triplet.key) for review, triplet in self.triplets]
        content = repr([sorted(self.reviews.values()), held]).encode("utf-8", "surrogatepass")
        return f"labels of {self.labelled_by}, {hashlib.sha256(content).hexdigest()[:16]}"


def read_layers(connection: sqlite3.Connection, settings: Evaluate) -> Iterator[TestLayer]:
    """The layers that the settings name, gold first; InputError where the test split lacks a review of one."""
    in_test = {review.key: review for review in reviews.in_split(connection, "test")}
    for name, value in _values(settings).items():
        if is_pool(value):
            yield _of_pool(connection, name, settings, in_test)
        elif value:
            given = rows(value)
            keys = {in_test[str(row["id"])].id: str(row["id"]) for row in given}
            who = read_annotators(given, name, settings)
            yield TestLayer(name, name_annotators(who), who, keys, labelled(given, in_test.values(), value))


def _of_pool(connection: sqlite3.Connection, name: str, settings: Evaluate, in_test: dict[str, Review]) -> TestLayer:
    value, where = _values(settings)[name], SETTINGS[name]
    read = read_finished(connection, name, value)
    astray = [
        review.key for review in read.reviews if review.key not in in_test or in_test[review.key].text != review.text
    ]
    if astray:
        more = f" and {len(astray) - 1:,} more" if len(astray) > 1 else ""
        raise InputError(
            f"review {astray[0]!r}{more} of pool {read.pool} is not in the test split as it was",
            where=where,
            fix="draw another pool with `builder gold pool --split test`",
        )
    read_annotators([{"annotators": read.annotators}], name, settings)
    keys = {in_test[review.key].id: review.key for review in read.reviews}
    triplets = [(in_test[review.key].id, triplet) for review in read.reviews for triplet in review.triplets]
    return TestLayer(name, read.labelled_by, read.annotators, keys, triplets)


def read_annotators(given: Iterable[Mapping[str, object]], layer: str, settings: Evaluate) -> Annotators:
    """Who labelled the rows of a layer, by the rows and the settings; ConfigError where these differ.

    Silver is the labels of a language model; of gold nothing is assumed.
    """
    rows_say = [cast(Annotators, row["annotators"]) for row in given]
    whole = join_annotators(rows_say)
    stated: Annotators = settings.gold_annotators if layer == "gold" else "language model"
    others = set(rows_say) - {"", stated}
    if stated and (whole not in ("", stated) or (others and stated != "mixed")):
        key = "evaluate.gold_annotators" if layer == "gold" else "evaluate.silver"
        raise ConfigError(
            f"the labels say that they are by {name_annotators(whole or min(others))}, and {key} says by "
            f"{name_annotators(stated)}",
            where=settings.gold if layer == "gold" else settings.silver,
            fix="correct one of them" if layer == "gold" else "name them in evaluate.gold",
        )
    return stated or whole


def rows(path: str) -> list[dict[str, object]]:
    """The rows of a gold file: JSON lines with `id`, `triplets`, perhaps `text` and `annotators`. InputError else."""
    if not path:
        return []
    gold_rows: list[dict[str, object]] = []
    lines = read_text(Path(path), _LINES).split("\n")  # not splitlines: U+2028 may be in a text
    for number, line in enumerate(lines, start=1):
        if not line.strip():
            continue
        try:
            row = parse_json(line)
            annotators = row.get("annotators") or ""
            gold_rows.append(
                {"id": row["id"], "triplets": list(row["triplets"]), "text": row.get("text"), "annotators": annotators}
            )
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            fault = (
                f"it is not JSON: {error}" if isinstance(error, ValueError) else "it has no id with a list of triplets"
            )
            raise InputError(f"no gold row: {fault}", where=f"{path}:{number}", fix=_LINES) from error
        if annotators not in ("", *ANNOTATORS):
            raise InputError(
                f"there are no annotators {annotators!r}",
                where=f"{path}:{number}",
                fix=f"write {', '.join(ANNOTATORS)}, or leave it out where you do not know",
            )
    return gold_rows


def labelled(rows: Iterable[dict[str, object]], reviews: Iterable[Review], path: str) -> list[tuple[int, Triplet]]:
    """(review id, triplet in offsets of its text) of every gold triplet."""
    known = {review.key: review for review in reviews}
    out: list[tuple[int, Triplet]] = []
    for row in rows:
        review, labels = known[str(row["id"])], row["triplets"]
        assert isinstance(labels, list)
        out += [(review.id, _triplet(label, review.text, f"{path}, review {review.key}")) for label in labels]
    return out


def _triplet(row: object, text: str, where: str) -> Triplet:
    if isinstance(row, dict) and row.get("polarity", "POS") not in POLARITIES:
        fault = f"gold triplet {row!r}: there is no polarity {row['polarity']!r}"
        raise InputError(fault, where=where, fix=f"write {', '.join(POLARITIES)}")
    try:
        assert isinstance(row, dict)
        polarity: Polarity = row["polarity"]
        valence = float(row.get("valence", VALENCES[polarity]))
        aspect, aspect_full, opinion, opinion_full = (
            _element(row, name, text) for name in ("aspect", "aspect_full", "opinion", "opinion_full")
        )
    except KeyError as error:
        fix = _SPANS if str(error.args[0]).endswith("_spans") else "see the format of gold in the documentation"
        raise InputError(f"gold triplet {row!r} has no {error.args[0]}", where=where, fix=fix) from error
    except (ValueError, TypeError, AssertionError) as error:
        raise InputError(f"gold triplet {row!r}: {error!r}", where=where) from error
    if polarity_of(valence) != polarity or not 1 <= valence <= 10:
        raise InputError(f"gold triplet {row!r}: valence {valence} is not {polarity}", where=where)
    return Triplet(aspect, aspect_full, opinion, opinion_full, polarity, valence, source="gold")


def _element(row: dict[str, Any], name: str, text: str) -> Element:
    """An element with its spans; gold without `_full` forms gives the plain ones for both."""
    given = name if name in row else name.removesuffix("_full")
    words, spans = row[given], tuple((start, end) for start, end in row[f"{given}_spans"])
    if not spans or spans[0][0] < 0 or not in_order(spans) or surface(text, spans) != words:
        raise ValueError(f"{words!r} does not stand at {spans}")
    return Element(words, spans)


def measured(connection: sqlite3.Connection, pool: str) -> AuditResult:
    """What people said of an audit's sample so far, as estimates for the release."""
    final = {i: label for i, (label, _) in pool_labels.final(connection, pool).items()}
    return measure_audit(pools.read(connection, pool), final, pools.complete(connection, pool))


def quality(connection: sqlite3.Connection) -> dict[str, object]:
    """The result of the last audit as plain values with a `summary`; empty without an audit, or without an answer."""
    pool = pools.latest(connection)
    result = measured(connection, pool) if pool is not None else None
    if result is None or result.precision is None:
        return {}
    return {"summary": describe_audit(result), **asdict(result)}


# ---- Taught reviews

FILE = "taught.jsonl"


@dataclass(frozen=True, slots=True)
class TaughtLabels:
    """A labelled review of the build, its split, and all of its triplets."""

    review: Review
    split: str
    triplets: tuple[Triplet, ...]


def taught_file(workdir: Path) -> Path:
    """Where the labels of a working directory lie that taught it."""
    return workdir / FILE


def read_taught_labels(context: Context) -> list[TaughtLabels]:
    """The labels that taught the working directory, of the reviews that it holds with the same text; each text once."""
    path = taught_file(context.workdir)
    if not path.is_file():
        return []
    taught = {str(row["text"]): row for row in rows(str(path))}
    known = {
        review.text: (review, split)
        for split in SPLITS
        for review in reviews.in_split(context.connection, split)
        if review.text in taught
    }
    out = []
    for text, (review, split) in known.items():
        labels = labelled([{**taught[text], "id": review.key}], [review], str(path))
        out.append(TaughtLabels(review, split, tuple(triplet for _, triplet in labels)))
    return out
