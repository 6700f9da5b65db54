"""How a triplet's story ends: the split of the last release that holds it, or why none does.

What the release itself left out stands in `rejected`; what never came to it follows from the split's source. With
variant E every split holds what rules and judge hold together. With A to D train holds the last training set, valid
what the rules propose, test what rules and last model propose, less what the judge rejects. Reviews of the test split
that are gold hold what gold says.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Collection, Mapping
from dataclasses import dataclass

from builder.store import runs, triplet_rows
from builder.store.queries import public_id


@dataclass(frozen=True, slots=True)
class Outcome:
    """`released` is None where that cannot be told: there is no release, or one of an older builder, which kept no
    list.
    """

    released: bool | None
    text: str


@dataclass(frozen=True, slots=True)
class _Known:
    """What is known of a review's triplets: by id, who proposes it how surely, and the verdict on it."""

    by: Mapping[int, Mapping[str, float | None]]
    verdicts: Mapping[int, tuple[str | None, float]]
    gold: bool
    judge: str


def outcomes(
    connection: sqlite3.Connection, review: int, key: str, split: str | None, ids: Collection[int]
) -> dict[int, Outcome]:
    """What became of the triplets of one review in the last release.

    Args:
        review: row id of the review; `key` is its id in the input.
        split: None where the review is in no split.
        ids: row ids of the triplets that are asked about.

    Returns:
        For each id whether the release holds it (None: unknown), with the version or the reason in words.
    """
    last = connection.execute("SELECT version FROM releases ORDER BY rowid DESC LIMIT 1").fetchone()
    if last is None:
        return dict.fromkeys(ids, Outcome(None, "this build is not released yet; `builder release` does that"))
    if connection.execute("SELECT 1 FROM released LIMIT 1").fetchone() is None:
        return dict.fromkeys(
            ids, Outcome(None, f"v{last[0]} keeps no list of its triplets here; `builder resume` makes one")
        )
    first = review << triplet_rows.BITS
    rows = connection.execute(
        "SELECT triplet, version, split, annotation FROM released WHERE triplet BETWEEN ? AND ?",
        (first, first | triplet_rows.HASH),
    )
    inside = {i: Outcome(True, f"in v{version}, {where}, {annotation}") for i, version, where, annotation in rows}
    if "release" not in runs.runs(connection):
        due = Outcome(None, f"not in v{last[0]}, and this build has changed since; `builder resume` goes on")
        return {i: inside.get(i, due) for i in ids}
    left = {i: inside.get(i) or _left_out(connection, key, i) for i in ids}
    known = _known(connection, first) if None in left.values() else None
    return {
        i: outcome or Outcome(False, f"not in v{last[0]}: {_why(connection, known, split, i)}")
        for i, outcome in left.items()
    }


def _left_out(connection: sqlite3.Connection, key: str, i: int) -> Outcome | None:
    """What the release said of the triplet, or of its review as a whole."""
    suffix = f":{i & triplet_rows.HASH:08x}"
    row = connection.execute(
        "SELECT item, reason, detail FROM rejected WHERE stage = 'release' AND item IN (?,?,?,?)",
        (key + suffix, public_id(key) + suffix, key, public_id(key)),
    ).fetchone()
    return row and Outcome(
        False, f"{row[1]}: {row[2]}" if row[0].endswith(suffix) else f"its review is left out, {row[1]}: {row[2]}"
    )


def _known(connection: sqlite3.Connection, first: int) -> _Known:
    ids = first, first | triplet_rows.HASH
    by: dict[int, dict[str, float | None]] = {}
    gold = False
    for i, name, kind, confidence in connection.execute(
        "SELECT p.triplet, s.name, s.kind, p.confidence FROM proposals p JOIN sources s ON s.id = p.source"
        " WHERE p.triplet BETWEEN ? AND ?",
        ids,
    ):
        by.setdefault(i, {})[name] = confidence
        gold = gold or kind == "gold"
    verdicts = connection.execute("SELECT triplet, label, score FROM verdicts WHERE triplet BETWEEN ? AND ?", ids)
    return _Known(by, {i: (label, score) for i, label, score in verdicts}, gold, runs.judge(connection) or "judge")


def _why(connection: sqlite3.Connection, known: _Known | None, split: str | None, i: int) -> str:
    assert known is not None, "it was asked for"
    config = json.loads(runs.setting(connection, "build") or '{"config": {}}')["config"]
    variant = str(config.get("release.train_source") or next(iter(config.get("self_train.variants", [])), ""))
    rounds = runs.rounds(connection, variant)
    last = f"{variant}{rounds[-1].round}" if rounds else ""
    by = known.by.get(i, {})
    if split is None:
        return "its review is in no split, for it is like reviews of several"
    if split == "test" and known.gold:
        return "this review is gold, and its labels do not say this"
    if split != "train" and variant != "E":
        return _kept_out(known, by, variant, last, split, i)
    if longer := _longer(connection, i, last):
        return f"{split} holds S_{rounds[-1].round} of variant {variant}, where its aspect is {longer}"
    return _not_learnt(
        known, by, variant, rounds[-1].round if rounds else 0, i, split, float(config.get("self_train.confidence", 0))
    )


def _kept_out(known: _Known, by: Mapping[str, float | None], variant: str, last: str, split: str, i: int) -> str:
    """Why a triplet of valid or test is not among what the sources of that split propose, for a variant of A to D."""
    names = ("rules",) if split == "valid" else ("rules", last)
    label, score = known.verdicts.get(i, (None, None))
    if any(name in by for name in names) and score is not None:
        return (
            f"variant {variant} leaves out what the {known.judge} rejects; it says {label or 'nothing'} ({score:.3f})"
        )
    return f"{split} holds what {' and '.join(names)} propose{'' if len(names) > 1 else 's'}"


def _longer(connection: sqlite3.Connection, i: int, source: str) -> str | None:
    """The aspect of a triplet of `source` that says the same of an aspect that holds this one's and more."""
    row = connection.execute(
        "SELECT l.aspect FROM triplets t JOIN triplets l ON l.review = t.review AND l.opinion = t.opinion"
        " AND l.polarity = t.polarity"
        " AND l.aspect <> t.aspect AND instr(l.aspect_full, t.aspect_full) JOIN proposals p ON p.triplet = l.id"
        " JOIN sources s ON s.id = p.source AND s.name = ? WHERE t.id = ? ORDER BY l.id",
        (source, i),
    ).fetchone()
    return row and str(row[0])


def _not_learnt(
    known: _Known, by: Mapping[str, float | None], variant: str, last: int, i: int, split: str, least: float
) -> str:
    """Why a triplet is not in S_last of the variant."""
    held = f"{split} holds S_{last} of variant {variant}"
    label, score = known.verdicts.get(i, (None, None))
    verdict = "" if score is None else f"the {known.judge} says {label or 'nothing'} ({score:.3f})"
    models = {name: sure for name, sure in by.items() if name[:1] == variant and name[1:].isdigit()}
    if not models and "rules" not in by:
        return f"{held}; only {', '.join(by)} proposes this"
    if variant == "E":
        return f"{held}: the {known.judge} does not hold with the rules here ({verdict})"
    if models and all(int(name[1:]) >= last for name in models) and "rules" not in by:
        return f"{held}; only {variant}{last}, trained on it, proposes this"
    sure = max((score for score in models.values() if score is not None), default=None)
    if "rules" not in by and sure is not None and sure < least:
        return f"{held}; confidence {sure:.3f} is below self_train.confidence {least:g}"
    return f"{held}, which did not take this up" + (f": {verdict}" if verdict else "")
