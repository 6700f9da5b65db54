"""`builder gold annotate`: pools out to files, labels back in, agreement, and where people disagree."""

from __future__ import annotations

import sqlite3
import tempfile
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from builder.core.errors import ConfigError, InputError
from builder.core.files import refusals, write_atomically
from builder.core.records import Candidate, Label, Pool
from builder.gold import agreement
from builder.gold.file_formats import CheckedAnswer, Checker, format_of
from builder.gold.items import Fault, LabelItem, items, label_text
from builder.store import db, pool_labels, pools


@dataclass(frozen=True, slots=True)
class Imported:
    """What a file held: labels (of them changed ones), missing triplets, reviews marked complete. With `faults`
    nothing was stored.

    `open`: candidates of the pool that none of these annotators has labelled.
    """

    pool: str
    annotators: tuple[str, ...]
    labels: int
    changed: int
    missing: int
    checked: int
    open: int
    faults: tuple[Fault, ...]


@contextmanager
def opened(workdir: Path) -> Iterator[sqlite3.Connection]:
    """The database of a working directory that exists, migrated, for writing."""
    with db.reading(workdir):
        pass
    with db.writing(workdir) as connection:
        yield connection


def export(
    workdir: Path, pool_id: str | None, path: Path, annotator: str = "", *, force: bool = False
) -> tuple[str, int]:
    """Write a pool, with the labels of `annotator` so far if named; (pool, candidates)."""
    with opened(workdir) as connection:
        pool = pools.read(connection, pools.chosen(connection, pool_id))
        labels = pool_labels.of_pool(connection, pool.id).get(annotator, {})
        checked = frozenset(pool_labels.checked(connection, pool.id, annotator))
    write_items(path, items(pool, labels, checked), force)
    return pool.id, pool.size


def import_labels(workdir: Path, pool_id: str | None, path: Path, annotator: str = "") -> Imported:
    """Store what a file says, all or nothing. `annotator` names who filled it in where the file does not."""
    with opened(workdir) as connection:
        pool = pools.read(connection, pools.chosen(connection, pool_id))
        answers, faults = _checked(pool, path, annotator)
        names = tuple(sorted({one.annotator for one in answers if one.label or one.missing or one.checked}))
        known = pool_labels.of_pool(connection, pool.id)
        given = [answer for answer in answers if answer.candidate is not None and answer.label is not None]
        changed = sum(
            _differs(known.get(answer.annotator, {}).get(answer.candidate.id), answer.label)
            for answer in given
            if answer.candidate
        )
        if not faults:
            with db.atomic(connection):
                for name in names:
                    own = [answer for answer in answers if answer.annotator == name]
                    _store(connection, name, own, f"import {path.suffix[1:]}")
        open_ = _count_open(connection, pool, names or (annotator,))
    missing, complete = sum(len(answer.missing) for answer in answers), sum(answer.checked for answer in answers)
    return Imported(pool.id, names, len(given), changed, missing, complete, open_, tuple(faults))


def _count_open(connection: sqlite3.Connection, pool: Pool, names: Iterable[str]) -> int:
    """Candidates of the pool that none of these annotators has labelled, whether or not a file names them."""
    labels = pool_labels.of_pool(connection, pool.id)
    answered = {candidate for name in names for candidate in labels.get(name, {})}
    return sum(
        candidate.n is not None and candidate.id not in answered
        for review in pool.reviews
        for candidate in review.candidates
    )


def _differs(before: Label | None, after: Label | None) -> bool:
    return before is not None and before != after


def agree(workdir: Path, pool_id: str | None, kind: str | None = "human") -> tuple[Pool, agreement.Agreement, int, int]:
    """(pool, agreement of the annotators of a kind, or of all for None; candidates that people dispute, of them
    undecided).
    """
    with opened(workdir) as connection:
        pool = pools.read(connection, pools.chosen(connection, pool_id))
        labels, people = (pool_labels.of_pool(connection, pool.id, one) for one in (kind, "human"))
        decided = pool_labels.decisions(connection, pool.id)
    disputed = agreement.disputed(pool, people)
    return pool, agreement.agreement(pool, labels), len(disputed), len(disputed.keys() - decided.keys())


def queue(workdir: Path, pool_id: str | None) -> tuple[Pool, list[tuple[str, str, Candidate, str]]]:
    """The candidates on which people disagree and nobody has decided, in the pool's order: its number (+id where a
    person added it), its review, the candidate, and what each said.
    """
    with opened(workdir) as connection:
        pool = pools.read(connection, pools.chosen(connection, pool_id))
        open_ = undecided(connection, pool)
    candidates = ((review.key, one) for review in pool.reviews for one in review.candidates if one.id in open_)
    return pool, [(f"+{one.id}" if one.n is None else str(one.n), key, one, open_[one.id]) for key, one in candidates]


def undecided(connection: sqlite3.Connection, pool: Pool) -> dict[int, str]:
    """Candidate id -> what each person said, of the disputes without a decision."""
    labels = pool_labels.of_pool(connection, pool.id, "human")
    decided = pool_labels.decisions(connection, pool.id)
    texts = {review.id: review.text for review in pool.reviews}
    owner = {candidate.id: review.id for review in pool.reviews for candidate in review.candidates}
    return {
        i: spoken(texts[owner[i]], answers)
        for i, answers in agreement.disputed(pool, labels).items()
        if i not in decided
    }


def spoken(text: str, labels: Iterable[tuple[str, Label]]) -> str:
    """`amy YY · bob YN → NEG`."""

    def describe(label: Label) -> str:
        right = [
            label.polarity or "",
            *("".join(text[s:e] for s, e in spans) for spans in (label.aspect, label.opinion) if spans),
        ]
        return label_text(label) + (" → " + " ".join(filter(None, right)) if any(right) else "")

    return " · ".join(f"{who} {describe(label)}" for who, label in labels)


def _checked(pool: Pool, path: Path, annotator: str) -> tuple[list[CheckedAnswer], list[Fault]]:
    if not path.is_file():
        raise InputError("no such file", where=str(path), fix="check the path")
    checker, answers, faults = Checker(pool, annotator), [], []
    for filled in format_of(path).read(path):
        try:
            if isinstance(filled, Fault):
                raise filled
            answers.append(checker.checked(filled))
        except Fault as fault:
            faults.append(fault)
    if not answers and not faults:
        fix = "give the file that `builder gold annotate export` wrote, filled in"
        raise InputError("no rows", where=str(path), fix=fix)
    return answers, faults


def check_name(name: str) -> None:
    """ConfigError for a name that no annotator can have."""
    if not name.strip() or len(name) > 64 or not name.isprintable():
        raise ConfigError(
            f"{name!r} is no name of an annotator", where="--annotator", fix="use 1 to 64 printable characters"
        )


def entered(connection: sqlite3.Connection, name: str, kind: str = "human") -> int:
    """The id of an annotator; ConfigError for a name that cannot be one."""
    check_name(name)
    try:
        return pool_labels.annotator(connection, name, kind)
    except ValueError as error:
        raise ConfigError(str(error), where="--annotator", fix="choose another name") from error


def _store(connection: sqlite3.Connection, name: str, answers: list[CheckedAnswer], tool: str) -> None:
    who = entered(connection, name)
    rows = [(answer.candidate.id, answer.label) for answer in answers if answer.candidate and answer.label is not None]
    added = [
        (pools.add(connection, answer.review.id, Candidate(None, t)), Label("YY"))
        for answer in answers
        for t in answer.missing
    ]
    pool_labels.put(connection, who, [*rows, *added], tool)
    pool_labels.check(connection, who, [answer.review.id for answer in answers if answer.checked], tool)


def write_items(path: Path, label_items: Iterable[LabelItem], force: bool) -> None:
    """Write items beside the target, then renamed. A file that is there may hold somebody's work."""
    if path.exists() and not force:
        raise InputError(
            "exists already, and may hold labels", where=str(path), fix="choose another name, or --force to replace it"
        )
    form = format_of(path)
    path.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=path.parent, prefix=f".{path.name}.") as folder:
        draft = Path(folder) / path.name
        with refusals(path, draft):
            form.write(draft, label_items)
        for made in sorted(Path(folder).iterdir()):
            write_atomically(path.parent / made.name, made.read_bytes())
