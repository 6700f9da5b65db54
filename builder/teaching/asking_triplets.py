"""`builder gold label`: a language model writes all triplets of reviews, as one more source beside the rules.

In: a working directory, a server, a choice of reviews. Out: proposals of the source `llm:MODEL@PROMPT`. Every raw
answer is kept by the digest of what was asked, in a transaction of its own; a rerun asks only what is missing.

Which reviews are worth a labeller's time: those in which the release would change most if somebody read them.
"""

from __future__ import annotations

import json
import math
import sqlite3
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from builder.core.errors import ConfigError, InputError, WorkdirError, did_you_mean
from builder.core.progress import bar
from builder.core.records import Review
from builder.gold.judge import Endpoint, Failure, Question, Reply, Spent, ask, key_of, message_of
from builder.gold.triplet_answers import read_answer
from builder.gold.triplet_prompt import (
    SHIPPED_PROMPT,
    Examples,
    LabelledExample,
    LabellerSetup,
    PromptVersion,
    ask_about,
)
from builder.pipeline import layers
from builder.pipeline.judging import read_unreadable, restore
from builder.pipeline.layers import is_pool, read_finished
from builder.store import db, gold, labels, pools, reviews, triplets
from builder.store.triplets import JudgedTriplet
from builder.teaching.judging import Limits
from builder.teaching.labelling import opened

JUDGE = "discriminator"
LEAST_DOUBT = 0.2
"""A review is disputed where a triplet is doubted at least so much."""
SELECTIONS = ("disputed", "all", "unreadable")


def choose_reviews(
    connection: sqlite3.Connection, selection: str, split: str, limit: int | None, source: str
) -> list[Review]:
    """The reviews of a split ("all" for every one) by doubt, then in the order of the hashes of their texts.

    `selection` "disputed" leaves out those in which nothing is doubted, "unreadable" those of which `source` gave an
    answer that can be read, or none; WorkdirError for another name than SELECTIONS.
    """
    if selection not in SELECTIONS:
        hint = did_you_mean(selection, SELECTIONS)
        known = ", ".join(sorted(SELECTIONS))
        raise WorkdirError(f"unknown selection {selection!r}", where="--select", fix=f"{hint}known: {known}")
    unreadable = read_unreadable(connection, source) if selection == "unreadable" else set()
    chosen: list[tuple[float, float, int]] = []
    for name in ("train", "valid", "test") if split == "all" else (split,):
        most, total = doubts(connection, name)
        for review in reviews.in_split(connection, name):
            doubt = total.get(review.id, 0.0) if selection == "disputed" else 0.0
            if selection == "disputed" and most.get(review.id, 0.0) < LEAST_DOUBT:
                continue
            if selection != "unreadable" or review.id in unreadable:
                chosen.append((-doubt, _shuffled(review.id), review.id))
    ids = [i for *_, i in sorted(chosen)[:limit]]
    by_id = {review.id: review for review in reviews.by_id(connection, ids)}
    return [by_id[i] for i in ids]


def doubts(connection: sqlite3.Connection, split: str) -> tuple[dict[int, float], dict[int, float]]:
    """Review row id -> the doubt of its most doubtful triplet, and the sum over its triplets."""
    most: dict[int, float] = {}
    total: dict[int, float] = {}
    for review, doubt in _triplet_doubts(connection, split):
        most[review] = max(most.get(review, 0.0), doubt)
        total[review] = total.get(review, 0.0) + doubt
    return most, total


def _triplet_doubts(connection: sqlite3.Connection, split: str) -> Iterator[tuple[int, float]]:
    systems = pools.systems(connection)
    judge = triplets.source_id(connection, JUDGE) or 0
    sources = [triplets.source_id(connection, name) for name in systems if systems[name] != triplets.RULES_REPEATED]
    seen: set[int] = set()
    for source in sources:
        if source is None:
            continue
        for judged in triplets.judged(connection, source, judge, split):
            if judged.stored.id not in seen:
                seen.add(judged.stored.id)
                yield judged.stored.review, min(chance := chance_of(judged), 1 - chance)


def chance_of(judged: JudgedTriplet) -> float:
    """How likely a triplet is right: by the judge's score, else by how far the rules' aspect is ahead."""
    if judged.score is not None:
        return min(1.0, max(0.0, judged.score))
    return 1 / (1 + math.exp(-min(judged.margin, 30.0)))


def _shuffled(review: int) -> float:
    """A fixed order that has nothing to do with that of the input."""
    return (review * 2654435761 % 2**32) / 2**32


_UNSUPPORTED = ("status 400", "status 415", "status 422", "status 501")
"""What servers answer that do not know structured output."""
_SILENT = ", no answer"
_LONGEST_NAME = 100


@dataclass(frozen=True, slots=True)
class ReviewChoice:
    """Which reviews are asked about. `shots`: examples shown with each, of those that `examples` names."""

    select: str = "disputed"
    split: str = "all"
    limit: int | None = None
    examples: str = ""
    shots: int = 3


@dataclass(frozen=True, slots=True)
class ReviewRequest:
    """A review and the two forms in which it can be asked about: with the schema of the answer, and without."""

    review: Review
    shaped: Question
    plain: Question


@dataclass(frozen=True, slots=True)
class LabelPlan:
    """What is to be asked: all requests, those without an answer yet, and what these take at most. `again`: they were
    asked before, and their last answer counts.
    """

    asking: LabellerSetup
    endpoint: Endpoint
    requests: tuple[ReviewRequest, ...]
    answered: Mapping[str, str]
    limits: Limits
    schema: bool
    again: bool = False

    @property
    def due(self) -> list[ReviewRequest]:
        return [request for request in self.requests if request.review.key not in self.answered]

    @property
    def prompt_tokens(self) -> int:
        return sum(request.shaped.prompt_tokens for request in self.due)

    @property
    def answer_tokens(self) -> int:
        return sum(request.shaped.answer_tokens for request in self.due)


@dataclass(slots=True)
class LabelCounts:
    """Counts of a run; `lost`: answers of this run that cannot be read; `triplets`,
    `readable` answers and `rejected` are those of the source after it.
    """

    source: str
    answered: int = 0
    lost: int = 0
    cached: int = 0
    prompt_tokens: int = 0
    completion_tokens: int = 0
    failed: Counter[str] = field(default_factory=Counter)
    stopped: bool = False
    schema: bool = True
    triplets: int = 0
    readable: int = 0
    rejected: Counter[str] = field(default_factory=Counter)

    @property
    def none_readable(self) -> bool:
        """Whether there are answers, and not one of them has a list of triplets."""
        return self.answered + self.cached > 0 and not self.readable


def plan_labels(
    workdir: Path,
    endpoint: Endpoint,
    model: str,
    limits: Limits,
    choice: ReviewChoice,
    prompt: PromptVersion = SHIPPED_PROMPT,
    parameters: Mapping[str, Any] | None = None,
    *,
    schema: bool = True,
) -> LabelPlan:
    """What a run would ask, before anything is spent. ConfigError where it is over a cap, or the endpoint, the key or
    the model's name cannot be used.
    """
    key_of(endpoint)
    limits.check_prices()
    asking = LabellerSetup(model, endpoint.url.rstrip("/"), prompt, parameters or {})
    if not model.strip() or not asking.source.isprintable() or len(asking.source) > _LONGEST_NAME:
        raise ConfigError(f"{model!r} is no name of a model", where="--model", fix="use a printable name, not too long")
    with opened(workdir) as connection:
        if triplets.source_id(connection, "rules") is None:
            raise WorkdirError("the rules have not run yet", where=str(workdir), fix="run `builder build` first")
        chosen = choose_reviews(connection, choice.select, choice.split, choice.limit, asking.source)
        examples = Examples(_read_examples(connection, choice.examples) if choice.shots else [])
        requests = tuple(_request(review, examples.similar(review.key, review.text, choice.shots), asking)
                         for review in chosen)  # fmt: skip
        forms = (form.hash for item in requests for form in (item.shaped, item.plain))
        known = {} if choice.select == "unreadable" else gold.cached(connection, forms)
    answered = {
        item.review.key: form.hash for item in requests for form in (item.plain, item.shaped) if form.hash in known
    }
    made = LabelPlan(asking, endpoint, requests, answered, limits, schema, choice.select == "unreadable")
    limits.check(made.prompt_tokens, made.answer_tokens, "ask about fewer reviews with --limit")
    return made


def label_reviews(workdir: Path, made: LabelPlan) -> LabelCounts:
    """Ask what is due, keep every answer as it comes, and write the source's proposals by all that is kept."""
    done = LabelCounts(made.asking.source, cached=len(made.answered), schema=made.schema)
    with opened(workdir) as connection:
        _remember(connection, made, made.answered)
        labels.clear_rows(connection, f"{made.asking.source}{_SILENT}")
        run = _LabelRun(connection, made, done)
        try:
            run.ask_all()
        except Spent:
            done.stopped = True
        finally:
            with db.atomic(connection):
                done.triplets = restore(connection, made.asking.source)
            done.readable = len(labels.reviews_of(connection, made.asking.source))
            done.rejected = Counter(labels.rejection_counts(connection, made.asking.source))
    return done


def _remember(connection: sqlite3.Connection, made: LabelPlan, answered: Mapping[str, str]) -> None:
    """Note which kept answers are those of the source. One that cannot be read takes no place of one that can."""
    by_key = {request.review.key: request.review for request in made.requests}
    read = labels.reviews_of(connection, made.asking.source)
    raw = gold.cached(connection, answered.values())
    with db.atomic(connection):
        rows = [
            (key, by_key[key].text, answer)
            for key, answer in answered.items()
            if by_key[key].id not in read or read_answer(message_of(raw[answer]), by_key[key].text).readable
        ]
        labels.remember(connection, made.asking.source, made.asking.prompt.digest, rows)


class _LabelRun:
    """One run of questions: the first finds out whether the server knows structured output, unless that is known."""

    def __init__(self, connection: sqlite3.Connection, made: LabelPlan, done: LabelCounts) -> None:
        self._connection, self._made, self._done = connection, made, done
        self._reviews = {request.review.id: request.review for request in made.requests}
        self._refused: list[Failure] = []
        self._left = len(made.due)

    def ask_all(self) -> None:
        """Ask what is due; `Spent` where a cap is reached."""
        due = self._made.due
        with bar(len(due), "label", unit=" reviews") as self._progress:
            if self._made.schema and due:
                ask(self._made.endpoint, [due[0].shaped], self._try)
                if self._refused:
                    self._done.schema = False
                else:
                    due = due[1:]
            forms = [request.shaped if self._done.schema else request.plain for request in due]
            if forms:
                ask(self._made.endpoint, forms, self._store)

    def _try(self, outcome: Reply | Failure) -> None:
        """Store the first answer; one that refuses the form of the question is no failure of the review."""
        if isinstance(outcome, Failure) and outcome.reason in _UNSUPPORTED:
            self._refused.append(outcome)
        else:
            self._store(outcome)

    def _store(self, outcome: Reply | Failure) -> None:
        """One outcome, whole or not at all; `Spent` once a cap is reached."""
        self._progress.update(1)
        self._left -= 1
        question, made, done = outcome.question, self._made, self._done
        review = self._reviews[question.candidates[0]]
        if isinstance(outcome, Failure):
            done.failed[outcome.reason] += 1
            with db.atomic(self._connection):
                row = (review.key, outcome.reason, f"{made.asking.source}{_SILENT}", outcome.raw[:10_000])
                reviews.reject(self._connection, labels.STAGE, [row])
            return
        prompt = question.prompt_tokens if outcome.prompt_tokens is None else outcome.prompt_tokens
        completion = question.answer_tokens if outcome.completion_tokens is None else outcome.completion_tokens
        readable = read_answer(outcome.content, review.text).readable
        answer_key = gold.name_next_answer(self._connection, question.hash) if made.again else question.hash
        kept = gold.JudgeAnswer(
            answer_key, made.asking.model, made.asking.endpoint, json.dumps(question.payload, ensure_ascii=False),
            outcome.raw, 1, int(readable), prompt, completion,
        )  # fmt: skip
        with db.atomic(self._connection):
            gold.keep(self._connection, kept)
            row_kept = (review.key, review.text, answer_key)
            labels.remember(self._connection, made.asking.source, made.asking.prompt.digest, [row_kept])
        done.answered += 1
        done.lost += not readable
        done.prompt_tokens += prompt
        done.completion_tokens += completion
        if self._left and made.limits.reached(done.prompt_tokens, done.completion_tokens):
            raise Spent


def _request(review: Review, shots: Sequence[LabelledExample], asking: LabellerSetup) -> ReviewRequest:
    shaped, plain = (ask_about(review.id, review.text, shots, asking, schema=schema) for schema in (True, False))
    return ReviewRequest(review, shaped, plain)


def _read_examples(connection: sqlite3.Connection, value: str) -> list[LabelledExample]:
    """The labelled reviews that are shown as examples: a gold file, or a pool that people labelled; none for ""."""
    if not value:
        return []
    if is_pool(value):
        read = read_finished(connection, "gold", value)
        return [LabelledExample(review.key, review.text, tuple(review.triplets)) for review in read.reviews]
    rows = layers.rows(value)
    texts = _texts(connection, rows)
    pseudo = {key: Review(n, key, text, "traditional") for n, (key, text) in enumerate(texts.items())}
    usable = [row for row in rows if str(row["id"]) in pseudo]
    if not usable:
        raise InputError(
            "none of its reviews is in the working directory, and its rows hold no text",
            where=value,
            fix="add `text` to its rows, or name reviews by their id",
        )
    own: dict[int, list[Any]] = {review.id: [] for review in pseudo.values()}
    for review, triplet in layers.labelled(usable, pseudo.values(), value):
        own[review].append(triplet)
    return [LabelledExample(review.key, review.text, tuple(own[review.id])) for review in pseudo.values()]


def _texts(connection: sqlite3.Connection, rows: Iterable[Mapping[str, object]]) -> dict[str, str]:
    """Review key -> text, of the rows that hold one or whose review is stored."""
    given = {str(row["id"]): row.get("text") for row in rows}
    known = reviews.ids(connection, [key for key, text in given.items() if not isinstance(text, str)])
    stored = {review.key: review.text for review in reviews.by_id(connection, list(known.values()))}
    texts = {key: text if isinstance(text, str) else stored.get(key) for key, text in given.items()}
    return {key: text for key, text in texts.items() if text is not None}
