"""How good a release is by an audit, and predictions by gold: `builder gold audit` and `builder gold score`.

Audit: draw a sample of a release for people to judge, and say how good the release is. In: a working directory with a
release. Out: a pool for the annotation page or a sheet, and `AuditResult`. The next `builder versions release` states
the result in card, manifest and Croissant; the report shows it at once.

Score. In: files or folders in any format that `builder.release.export.answers` knows, or gold by two annotators. Out:
`Scored`, the metrics with their intervals and what a reader should know of gold and predictions.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from builder.core.errors import ConfigError, InputError, WorkdirError
from builder.core.records import Pool
from builder.core.wording import counted, describe_faults
from builder.gold.agreement import AuditResult, AuditSettings, draw_audit
from builder.gold.items import READ
from builder.gold.metrics import Answer
from builder.gold.metrics.complete import agreement, count_optional
from builder.gold.metrics.systems import Asked, Settings, SystemScores, measure, measure_complete, metrics
from builder.pipeline.layers import measured
from builder.release.export import answers
from builder.release.export.answers import AnswersRead, File, is_complete, load_complete
from builder.store import db, pools
from builder.teaching.labelling import opened

# ---- Audits of a release


@dataclass(frozen=True, slots=True)
class Drawn:
    """An audit's pool; `new` False where the very same was there already. `triplets` to judge one by one, `reviews` to
    read in full.
    """

    pool: Pool
    new: bool
    triplets: int
    reviews: int


def draw(workdir: Path, settings: AuditSettings) -> Drawn:
    """Draw an audit of the last release and store it. WorkdirError where nothing is released."""
    with opened(workdir) as connection:
        version, reviews = pools.released(connection)
        if not any(review.candidates for review in reviews):
            raise WorkdirError(
                "no release with triplets that machines found", where=str(workdir), fix="run `builder build` first"
            )
        drawn = draw_audit(reviews, version, settings)
        new = not pools.exists(connection, drawn.id)
        if new:
            with db.atomic(connection):
                pools.write(connection, drawn)
        pool = pools.read(connection, drawn.id)
    read = [review for review in pool.reviews if review.stratum == READ]
    single = sum(
        candidate.n is not None for review in pool.reviews if review.stratum != READ for candidate in review.candidates
    )
    return Drawn(pool, new, single, len(read))


def result(workdir: Path, pool: str | None = None) -> AuditResult:
    """How good the release is by the answers so far, of the last audit or of `pool`."""
    with opened(workdir) as connection:
        return measured(connection, _chosen(connection, workdir, pool))


def _chosen(connection: sqlite3.Connection, workdir: Path, pool: str | None) -> str:
    if pool is None:
        chosen = pools.latest(connection)
    else:
        chosen = pools.chosen(connection, pool)
        if not pools.is_audit(connection, chosen):
            raise ConfigError(
                f"pool {chosen} was drawn for no audit", where="--pool", fix="leave --pool out for the last audit"
            )
    if chosen is None:
        raise WorkdirError("no audit was drawn here", where=str(workdir), fix="draw one with `builder gold audit draw`")
    return chosen


# ---- Scores against gold

Rows = list[tuple[str, SystemScores]]
"""(opinion or opinion_full, a metric of it)"""


@dataclass(frozen=True, slots=True)
class Scored:
    """`counts` of reviews and triplets by name, `summary` the same in sentences, `notes` what to know before believing
    the numbers.
    """

    rows: Rows
    counts: dict[str, object]
    summary: tuple[str, ...]
    notes: tuple[str, ...] = field(default=())


def score_files(
    gold: Path, pred: Path, against: Path | None = None, *, asked: Asked = "all", keys: tuple[str, ...] = ("opinion",
    "opinion_full"),
    settings: Settings | None = None, strict: bool = False,
) -> Scored:  # fmt: skip
    """Score `pred`, and its difference to `against`. `keys`: which opinion of our own rows is scored. `strict`: a
    faulty gold line is an InputError.
    """
    settings = settings or Settings()
    files: Mapping[str, File] = {
        name: answers.load(path) for name, path in (("pred", pred), ("against", against)) if path is not None
    }
    if is_complete(gold):
        return _score_complete(gold, files, asked, keys, settings)
    if asked == "complete":
        fix = "name a folder with A.jsonl and B.jsonl"
        raise ConfigError("the metric `complete` needs gold by two annotators", where=str(gold), fix=fix)
    gold_file, files = _joinable(answers.load(gold), files)
    rows: Rows = []
    for key in keys:
        due = gold_file.read(key, strict)
        predicted, other = _answers_of(files, key)
        rows += [(key, row) for row in measure(due.answers, predicted, metrics(asked, settings.mode), settings, other)]
    due, read = gold_file.read(strict=strict), {name: file.read() for name, file in files.items()}
    counts: dict[str, object] = {"gold": len(due.answers), "null_triplets": due.null}
    counts |= {"without_prediction": len(due.answers.keys() - read["pred"].answers.keys())}
    counts |= {"faulty": list(due.faults)} if due.faults else {}
    summary = [
        _join(
            f"gold: {counted(len(due.answers), 'review')}, {due.null} NULL triplets left out", due.answers, read["pred"]
        )
    ]
    summary += _ceiling(rows, due)
    faults = describe_faults(due.faults, "faulty gold line", "--format json")
    return Scored(rows, counts, tuple(summary), (*_notes(due.answers, read, settings.mode), *faults))


def _score_complete(
    gold: Path, files: Mapping[str, File], asked: Asked, keys: tuple[str, ...], settings: Settings
) -> Scored:
    if asked not in ("all", "complete"):
        fix = "leave --metric out, or say --metric complete"
        raise ConfigError(
            f"gold by two annotators has core and full forms, which {asked} does not know", where=str(gold), fix=fix
        )
    if settings.mode != "open":
        raise ConfigError(
            f"gold by two annotators is scored in open mode, not {settings.mode}",
            where=str(gold),
            fix="leave --mode out",
        )
    reviews = load_complete(gold)
    rows: Rows = []
    hits = {}
    for key in keys:
        predicted, other = _answers_of(files, key)
        hits[key] = count_optional(reviews, predicted)
        rows += [(key, row) for row in measure_complete(reviews, predicted, settings, other)]
    read = {name: file.read() for name, file in files.items()}
    required, optional = (
        sum(len(getattr(review, name)) for review in reviews.values()) for name in ("required", "optional")
    )
    agreed = agreement(reviews)
    counts: dict[str, object] = {
        "gold": len(reviews),
        "required": required,
        "optional": optional,
        "agreement_f1": agreed,
    }
    counts |= {"optional_hit": hits, "without_prediction": len(reviews.keys() - read["pred"].answers.keys())}
    head = (
        f"gold: {counted(len(reviews), 'review')}, {required} required and {counted(optional, 'optional triplet')}; F1 "
        f"of one annotator against the other {agreed:.1f}"
    )
    tail = "optional triplets hit, which count neither as right nor as wrong: " + ", ".join(
        f"{n} by {key}" for key, n in hits.items()
    )
    return Scored(rows, counts, (_join(head, reviews, read["pred"]), tail), tuple(_notes(reviews, read, settings.mode)))


def _joinable(gold: File, files: Mapping[str, File]) -> tuple[File, Mapping[str, File]]:
    """The same files. Rows of the paper's format are known by the ids of their reviews where all of that format have
    them, else by their numbers.
    """
    if not any(file.is_numbered for file in (gold, *files.values())):
        return gold, files
    return gold.by_number(), {name: file.by_number() for name, file in files.items()}


def _answers_of(files: Mapping[str, File], key: str) -> tuple[dict[str, list[Answer]], dict[str, list[Answer]] | None]:
    return files["pred"].read(key).answers, files["against"].read(key).answers if "against" in files else None


def _join(head: str, gold: Mapping[str, object], predicted: AnswersRead) -> str:
    missing, other = len(gold.keys() - predicted.answers.keys()), len(predicted.answers.keys() - gold.keys())
    parts = [head]
    parts += [f"{counted(missing, 'review')} without a prediction"] if missing else []
    parts += [f"{counted(other, 'predicted review')} not in gold"] if other else []
    return "; ".join(parts)


def _ceiling(rows: Rows, due: AnswersRead) -> list[str]:
    low = next((row.ceiling for _, row in rows if row.ceiling < 100), None)
    if low is None:
        return []
    empty = sum(not triplets for triplets in due.answers.values())
    return [f"ceiling of the paper metric: {low:.1f}, empty gold reviews count 0: {empty} of {len(due.answers):,}"]


def _notes(gold: Mapping[str, object], read: Mapping[str, AnswersRead], mode: str) -> list[str]:
    """What to know of the predictions; InputError where they are of other reviews."""
    notes = []
    for name, predictions in read.items():
        if not predictions.answers.keys() & gold.keys():
            ids = [next(iter(named), "") for named in (predictions.answers, gold)]
            raise InputError(
                f"--{name} and --gold have no id in common, for example {ids[0]!r} and {ids[1]!r}",
                fix="score the same reviews under the same ids; lines of ASTE files, and of the paper's format without "
                "`review_id`, are known by their numbers",
            )
        if predictions.given and mode == "open":
            notes.append(
                f"note: the questions of --{name} name the aspects: where a model was asked so, score it with --mode "
                "given-aspects"
            )
    return notes
