"""Pools: drawn (`builder gold pool`), labelled by a language model (`builder gold judge`), and written as gold
(`builder gold annotate gold`).

A pool unites what the rules and the last model of each variant propose for the sampled reviews. The discriminator's
verdicts on the candidates are kept as labels of the annotator `discriminator` (the paper's Table 4). Every raw answer
of a language model is kept by the hash of its payload, in a transaction of its own.
"""

from __future__ import annotations

import json
import sqlite3
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from builder.core.errors import ConfigError, InputError, WorkdirError, did_you_mean
from builder.core.files import write_atomically
from builder.core.progress import bar
from builder.core.records import Label, Pool, Released
from builder.gold.judge import Endpoint, Failure, Question, Reply, Spent, ask, key_of, message_of, parse, questions
from builder.gold.pool import LayerReview, PoolLayer, PoolSettings, make, name_of, sample
from builder.pipeline.layers import read_layer
from builder.release.export.formats import NAMES, export, skipped_lines
from builder.release.export.native_rows import ReviewRow, triplet_row
from builder.reviews.script import language_tag
from builder.store import db, pool_labels, pools, reviews, triplets
from builder.store.triplets import triplet_id
from builder.teaching.labelling import entered, opened

DISCRIMINATOR = "discriminator"


@dataclass(frozen=True, slots=True)
class PoolResult:
    """A pool; `new` False where the very same was there already; reviews of the split; candidates by how many sources
    propose them.
    """

    pool: Pool
    new: bool
    available: int
    proposers: Counter[int]


def make_pool(workdir: Path, settings: PoolSettings) -> PoolResult:
    """Make a pool and store it. WorkdirError where nothing has been proposed yet, or the split is empty."""
    with opened(workdir) as connection:
        systems = pools.systems(connection)
        if not systems:
            fix = "run `builder run seed`, or the whole build"
            raise WorkdirError("no source has proposed triplets yet", where=str(workdir), fix=fix)
        reviews = pools.reviews_of(connection, settings.split)
        if not reviews:
            fix = "choose --split train, valid, test or all"
            raise WorkdirError(f"no review in split {settings.split!r}", where=str(workdir), fix=fix)
        chosen = sample(reviews, settings)
        proposed = pools.proposals(connection, systems, [review.id for review in chosen])
        pool = make(chosen, proposed, systems, settings)
        new = not pools.exists(connection, pool.id)
        if new:
            keys = {review.id: review.key for review in reviews}
            ids = {
                (keys[i], name_of(proposal.triplet)): proposal.id for i, own in proposed.items() for proposal, _ in own
            }
            with db.atomic(connection):
                pools.write(connection, pool)
                _keep_verdicts(connection, pools.read(connection, pool.id), ids)
        proposers = Counter(len(candidate.sources) for review in pool.reviews for candidate in review.candidates)
    return PoolResult(pool, new, len(reviews), proposers)


def _keep_verdicts(connection: sqlite3.Connection, pool: Pool, ids: Mapping[tuple[str, str], int]) -> None:
    """`ids`: (review key, name of the candidate) -> id of the triplet that was judged."""
    judge = triplets.source_id(connection, DISCRIMINATOR)
    if judge is None:
        return
    verdicts = triplets.verdicts(connection, judge)
    known = [
        (candidate.id, verdicts.get(ids[review.key, name_of(candidate.triplet)]))
        for review in pool.reviews
        for candidate in review.candidates
    ]
    rows = [(i, Label(verdict)) for i, verdict in known if verdict is not None]
    pool_labels.put(connection, pool_labels.annotator(connection, DISCRIMINATOR, "discriminator"), rows, "pool")


# ---- Labels as gold

OWN = "jsonl"
"""The format that `evaluate.gold` reads."""


@dataclass(frozen=True, slots=True)
class PoolGold:
    """What was written: the layer, reviews and labels in the file, reviews that the format cannot hold."""

    layer: PoolLayer
    reviews: int
    labels: int
    skipped: int = 0


def write_gold(
    workdir: Path, pool_id: str | None, path: Path, annotator: str = "", form: str = OWN, *, force: bool = False
) -> PoolGold:
    """Write the labels of a pool: what people decided, or those of `annotator`.

    ConfigError for an unknown format, and for an annotator without labels there; InputError where nothing is ready or
    the file is there already.
    """
    known = (OWN, *NAMES)
    if form not in known:
        raise ConfigError(f"unknown format {form!r}", fix=f"{did_you_mean(form, known)}known: {', '.join(known)}")
    if path.exists() and not force:
        raise InputError("exists already", where=str(path), fix="choose another name, or --force to replace it")
    with opened(workdir) as connection:
        layer = read_layer(connection, pools.chosen(connection, pool_id), annotator)
    if not layer.reviews:
        raise InputError(
            f"no review of pool {layer.pool} has all of its answers", where=str(workdir), fix="label it, or adjudicate"
        )
    path.parent.mkdir(parents=True, exist_ok=True)
    return _write_own(layer, path) if form == OWN else _write_format(layer, path, form)


def _write_own(layer: PoolLayer, path: Path) -> PoolGold:
    lines = (json.dumps(review.row(layer), ensure_ascii=False) + "\n" for review in layer.reviews)
    write_atomically(path, "".join(lines).encode())
    return PoolGold(layer, len(layer.reviews), layer.triplets)


def _write_format(layer: PoolLayer, path: Path, form: str) -> PoolGold:
    rows = [_release_row(review, layer.name) for review in layer.reviews]
    made = export(form, "test", rows)
    write_atomically(path, made.payload)
    aside = path.with_name(f"{path.name}.skipped.jsonl")
    if made.skipped:
        texts = {review.key: review.text for review in layer.reviews}
        write_atomically(aside, skipped_lines(made.skipped, texts).encode())
    else:
        aside.unlink(missing_ok=True)
    return PoolGold(layer, made.reviews, made.labels, len(made.skipped))


def _release_row(review: LayerReview, annotation: str) -> ReviewRow:
    """A labelled review as a row of a release, with its raw text."""
    language = language_tag(review.text)
    triplets = [
        triplet_row(triplet, Released(f"{review.key}:{triplet_id(0, triplet):08x}", (annotation,)))
        for triplet in review.triplets
    ]
    return {
        "id": review.key, "text": review.text, "language": language, "rating": review.rating, "source": None,
        "annotation": annotation, "unverified_negative": annotation == "silver" and not triplets, "triplets": triplets,
    }  # fmt: skip


# ---- Labels by a language model

UNPARSABLE = "unparsable"
TOOL = "judge"


@dataclass(frozen=True, slots=True)
class JudgingPlan:
    """What is to be asked: all requests, those without an answer yet, what these take at most, and the cap on their
    tokens; None: no cap.
    """

    pool: str
    model: str
    endpoint: Endpoint
    questions: tuple[Question, ...]
    due: tuple[Question, ...]
    most: int | None
    prompt_tokens: int
    answer_tokens: int


@dataclass(slots=True)
class JudgingCounts:
    """Counts of a run; tokens are those the endpoint reports, or the estimate where it does not."""

    answered: int = 0
    cached: int = 0
    prompt_tokens: int = 0
    completion_tokens: int = 0
    failed: Counter[str] = field(default_factory=Counter)
    labels: Counter[str] = field(default_factory=Counter)
    stopped: bool = False


def plan(
    workdir: Path,
    pool_id: str | None,
    endpoint: Endpoint,
    model: str,
    most: int | None,
    batch: int = 1,
    parameters: Mapping[str, Any] | None = None,
) -> JudgingPlan:
    """What a run would ask, before anything is spent. ConfigError where it may take more than `most` tokens, or the
    endpoint or key cannot be used.
    """
    key_of(endpoint)
    with opened(workdir) as connection:
        pool = pools.read(connection, pools.chosen(connection, pool_id))
        asked = tuple(questions(pool, model, endpoint.url.rstrip("/"), batch, parameters or {}))
        known = pool_labels.cached(connection, (question.hash for question in asked))
    due = tuple(question for question in asked if question.hash not in known)
    prompt, answer = sum(q.prompt_tokens for q in due), sum(q.answer_tokens for q in due)
    if most is not None and prompt + answer > most:
        raise ConfigError(
            f"it may take up to {prompt + answer:,} tokens, the cap is {most:,}",
            where="--max-tokens",
            fix="raise the cap, or make a smaller pool",
        )
    return JudgingPlan(pool.id, model, endpoint, asked, due, most, prompt, answer)


def judge(workdir: Path, made: JudgingPlan) -> JudgingCounts:
    """Ask what is due and store every answer as it comes; labels of known answers are stored again without asking."""
    done = JudgingCounts()
    with opened(workdir) as connection:
        with db.atomic(connection):
            who = entered(connection, made.model, "llm")
            known = pool_labels.cached(connection, (question.hash for question in made.questions))
            for question in made.questions:
                if question.hash in known:
                    done.cached += 1
                    _label(connection, who, question, message_of(known[question.hash]), done)
        progress = bar(len(made.due), "judge", unit=" requests")
        try:
            with progress:
                ask(made.endpoint, made.due, lambda outcome: _store(connection, who, made, outcome, done, progress))
        except Spent:
            done.stopped = True
    return done


def _store(
    connection: sqlite3.Connection,
    who: int,
    made: JudgingPlan,
    outcome: Reply | Failure,
    done: JudgingCounts,
    progress: Any,
) -> None:
    """One outcome, whole or not at all; `Spent` once the cap is reached (a server may use more than was estimated)."""
    progress.update(1)
    question = outcome.question
    if isinstance(outcome, Failure):
        done.failed[outcome.reason] += 1
        with db.atomic(connection):
            reviews.reject(connection, "judge", [(question.hash, outcome.reason, made.model, outcome.raw[:10_000])])
        return
    prompt = question.prompt_tokens if outcome.prompt_tokens is None else outcome.prompt_tokens
    completion = question.answer_tokens if outcome.completion_tokens is None else outcome.completion_tokens
    with db.atomic(connection):
        parsed = _label(connection, who, question, outcome.content, done)
        payload = json.dumps(question.payload, ensure_ascii=False)
        endpoint, number = made.endpoint.url.rstrip("/"), len(question.candidates)
        pool_labels.keep(
            connection,
            pool_labels.JudgeAnswer(
                question.hash, made.model, endpoint, payload, outcome.raw, number, parsed, prompt, completion
            ),
        )
    done.answered += 1
    done.prompt_tokens += prompt
    done.completion_tokens += completion
    asked = done.answered + sum(done.failed.values())
    if made.most is not None and done.prompt_tokens + done.completion_tokens >= made.most and asked < len(made.due):
        raise Spent


def _label(connection: sqlite3.Connection, who: int, question: Question, content: str, done: JudgingCounts) -> int:
    """Store the labels in an answer, abstentions for what cannot be read; how many could."""
    verdicts = parse(content, len(question.candidates))
    rows: Sequence[tuple[int, Label]] = [
        (i, Label(verdict, note="" if verdict else UNPARSABLE))
        for i, verdict in zip(question.candidates, verdicts, strict=True)
    ]
    pool_labels.put(connection, who, rows, TOOL)
    done.labels.update(verdict or UNPARSABLE for verdict in verdicts)
    return sum(verdict is not None for verdict in verdicts)
