"""`builder gold judge`: a language model labels a pool. Every raw answer is kept by the hash of its payload, in a
transaction of its own.
"""

from __future__ import annotations

import json
import sqlite3
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from builder.core.errors import ConfigError
from builder.core.progress import bar
from builder.core.records import Label
from builder.gold.judge import Endpoint, Failure, Question, Reply, Spent, ask, key_of, message_of, parse, questions
from builder.store import db, gold, pools, reviews
from builder.teaching.labelling import entered, opened

UNPARSABLE = "unparsable"
TOOL = "judge"


@dataclass(frozen=True, slots=True)
class Limits:
    """Prices per million tokens; caps on tokens and on cost, None: no cap. ConfigError for a cost cap without
    prices.
    """

    price_in: float = 0.0
    price_out: float = 0.0
    tokens: int | None = None
    cost: float | None = None

    def cost_of(self, prompt: int, completion: int) -> float:
        return (prompt * self.price_in + completion * self.price_out) / 1e6

    def check(self, prompt: int, completion: int, less: str) -> None:
        """ConfigError where so many tokens may go over a cap; `less` says how to ask less."""
        if self.tokens is not None and prompt + completion > self.tokens:
            raise ConfigError(
                f"it may take up to {prompt + completion:,} tokens, the cap is {self.tokens:,}",
                where="--max-tokens",
                fix=f"raise the cap, or {less}",
            )
        cost = self.cost_of(prompt, completion)
        if self.cost is not None and cost > self.cost:
            raise ConfigError(
                f"it may cost up to {_show_price(cost)}, the cap is {_show_price(self.cost)}",
                where="--max-cost",
                fix=f"raise the cap, or {less}",
            )

    def check_prices(self) -> None:
        """ConfigError for a cost cap that nothing can be held against."""
        if self.cost is not None and not (self.price_in or self.price_out):
            raise ConfigError(
                "a cost cap needs prices", where="--max-cost", fix="give --price-in and --price-out, per million tokens"
            )

    def reached(self, prompt: int, completion: int) -> bool:
        """Whether so many tokens are as much as a cap allows."""
        return (self.tokens is not None and prompt + completion >= self.tokens) or (
            self.cost is not None and self.cost_of(prompt, completion) >= self.cost
        )


def _show_price(price: float) -> str:
    """A price with cents, or as many digits as a smaller one needs."""
    return f"{price:.2f}" if price >= 0.01 or not price else f"{price:.2g}"


@dataclass(frozen=True, slots=True)
class JudgingPlan:
    """What is to be asked: all requests, those without an answer yet, and what these take at most."""

    pool: str
    model: str
    endpoint: Endpoint
    questions: tuple[Question, ...]
    due: tuple[Question, ...]
    limits: Limits
    prompt_tokens: int
    answer_tokens: int

    @property
    def cost(self) -> float:
        return self.limits.cost_of(self.prompt_tokens, self.answer_tokens)


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
    limits: Limits,
    batch: int = 1,
    parameters: Mapping[str, Any] | None = None,
) -> JudgingPlan:
    """What a run would ask, before anything is spent. ConfigError where it is over a cap, or the endpoint or key
    cannot be used.
    """
    key_of(endpoint)
    limits.check_prices()
    with opened(workdir) as connection:
        pool = pools.read(connection, pools.chosen(connection, pool_id))
        asked = tuple(questions(pool, model, endpoint.url.rstrip("/"), batch, parameters or {}))
        known = gold.cached(connection, (question.hash for question in asked))
    due = tuple(question for question in asked if question.hash not in known)
    made = JudgingPlan(
        pool.id,
        model,
        endpoint,
        asked,
        due,
        limits,
        sum(q.prompt_tokens for q in due),
        sum(q.answer_tokens for q in due),
    )
    limits.check(made.prompt_tokens, made.answer_tokens, "make a smaller pool")
    return made


def judge(workdir: Path, made: JudgingPlan) -> JudgingCounts:
    """Ask what is due and store every answer as it comes; labels of known answers are stored again without asking."""
    done = JudgingCounts()
    with opened(workdir) as connection:
        with db.atomic(connection):
            who = entered(connection, made.model, "llm")
            known = gold.cached(connection, (question.hash for question in made.questions))
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
    """One outcome, whole or not at all; `Spent` once a cap is reached (a server may use more than was estimated)."""
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
        gold.keep(
            connection,
            gold.JudgeAnswer(
                question.hash, made.model, endpoint, payload, outcome.raw, number, parsed, prompt, completion
            ),
        )
    done.answered += 1
    done.prompt_tokens += prompt
    done.completion_tokens += completion
    asked = done.answered + sum(done.failed.values())
    if made.limits.reached(done.prompt_tokens, done.completion_tokens) and asked < len(made.due):
        raise Spent


def _label(connection: sqlite3.Connection, who: int, question: Question, content: str, done: JudgingCounts) -> int:
    """Store the labels in an answer, abstentions for what cannot be read; how many could."""
    verdicts = parse(content, len(question.candidates))
    rows: Sequence[tuple[int, Label]] = [
        (i, Label(verdict, note="" if verdict else UNPARSABLE))
        for i, verdict in zip(question.candidates, verdicts, strict=True)
    ]
    gold.put(connection, who, rows, TOOL)
    done.labels.update(verdict or UNPARSABLE for verdict in verdicts)
    return sum(verdict is not None for verdict in verdicts)
