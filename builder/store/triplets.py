"""Triplets, proposals and verdicts, written and streamed.

A triplet is stored once however many sources propose it. Its row has its id, its columns, its spans and its reasons.
Training sets say which triplets each variant trains on, round by round. The table `lexicon_use` says which words of the
lexicon the rules' triplets rest on. It is counted at the end of the stage seed.
"""

from __future__ import annotations

import hashlib
import json
import math
import sqlite3
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from builder.core.records import Element, Polarity, ReadWord, Reasons, StoredTriplet, Triplet, Verdict
from builder.core.wording import Annotators
from builder.store import db, queries
from builder.store.queries import read_value
from builder.store.reviews import PROPOSED_FOR

# ---- Triplets

TRIPLET_COLUMNS = (
    "t.id, t.review, t.aspect, t.aspect_full, t.owner, t.opinion, t.opinion_full, t.polarity, t.valence, t.spans"
)
BITS = 31
"""An id shifted right by this is the review's id."""
HASH = (1 << BITS) - 1
"""The bits of an id that say which triplet of its review it is."""
EVERY = 0, (1 << 63 - BITS) - 1
"""The first and the last row id that a review may have."""


def triplet_id(review: int, triplet: Triplet) -> int:
    """31 bits of hash within a review: two triplets of a review collide once in some hundred million reviews."""
    text = json.dumps([triplet.aspect.spans, triplet.opinion.spans, triplet.polarity])
    return (review << BITS) | (int.from_bytes(hashlib.sha256(text.encode()).digest()[:4], "big") >> 1)


PreparedTriplet = tuple[tuple[object, ...], tuple[object, ...]]
"""A row of `triplets`, which begins with the id, and what a row of `proposals` says of it."""


def prepare(rows: Iterable[tuple[int, Triplet]]) -> list[PreparedTriplet]:
    """(review id, triplet in stored offsets) as rows of the database: workers do it."""
    return [
        (
            make_row(triplet_id(review, t), review, t),
            (t.confidence, t.rules[0] if t.rules else None, _story(t), *_decisions(t.reasons)),
        )
        for review, t in rows
    ]


def make_row(i: int, review: int, t: Triplet) -> tuple[object, ...]:
    """The row of `triplets` under a given id."""
    return (
        i, review, t.aspect.text, t.aspect_full.text, t.owner.text if t.owner else None, t.opinion.text,
        t.opinion_full.text, t.polarity, t.valence, spans_of(t),
    )  # fmt: skip


def restore(row: tuple[int, int, str, str, str | None, str, str, Polarity, float, str]) -> StoredTriplet:
    """The triplet of a row, whose columns are `TRIPLET_COLUMNS`."""
    i, review, aspect, aspect_full, owner, opinion, opinion_full, polarity, valence, spans = row
    at = {name: tuple((s, e) for s, e in places) for name, places in json.loads(spans).items()}
    triplet = Triplet(
        Element(aspect, at["aspect"]),
        Element(aspect_full, at["aspect_full"]),
        Element(opinion, at["opinion"]),
        Element(opinion_full, at["opinion_full"]),
        polarity,
        valence,
        owner=Element(owner, at["owner"]) if owner is not None else None,
    )
    return StoredTriplet(i, review, triplet)


def spans_of(triplet: Triplet) -> str:
    """The spans of a triplet's elements as the JSON that the table `triplets` holds."""
    names = ("aspect", "aspect_full", "opinion", "opinion_full", *(["owner"] if triplet.owner else []))
    return json.dumps({name: getattr(triplet, name).spans for name in names}, separators=(",", ":"))


def _story(triplet: Triplet) -> str:
    return json.dumps(
        [*(("rule", rule) for rule in triplet.rules), *triplet.evidence], ensure_ascii=False, separators=(",", ":")
    )


_UNREAD = ReadWord("", None)


def _decisions(reasons: Reasons | None) -> tuple[object, ...]:
    """Margin, and category and entry of aspect and opinion."""
    if reasons is None:
        return (None,) * 5
    words = [word or _UNREAD for word in (reasons.aspect, reasons.opinion)]
    margin = reasons.margin if math.isfinite(reasons.margin) else None
    return margin, *(value for word in words for value in (word.category, word.place))


@dataclass(frozen=True, slots=True)
class JudgedTriplet:
    """A triplet as a source proposes it and a judge labels it. `label` None: abstains; `score` None: not asked;
    `rule`: the first that found it.
    """

    stored: StoredTriplet
    confidence: float | None
    label: Verdict | None
    score: float | None
    rule: str = ""


_OVERRULE = """UPDATE SET aspect_full = excluded.aspect_full, owner = excluded.owner,
    opinion_full = excluded.opinion_full, valence = excluded.valence, spans = excluded.spans"""


_PROPOSAL = (
    "source, triplet, confidence, rule, story, margin, aspect_category, aspect_entry, opinion_category, opinion_entry"
)
_STAYS = "ON CONFLICT DO NOTHING"


def source(
    connection: sqlite3.Connection,
    name: str,
    kind: str,
    signature: str,
    labelled_by: str | None = None,
    annotators: Annotators = "",
) -> int:
    """The id of a source, after dropping what it said before: a rerun replaces."""
    connection.execute("DELETE FROM sources WHERE name = ?", (name,))
    cursor = connection.execute(
        "INSERT INTO sources (name, kind, signature, labelled_by, annotators) VALUES (?,?,?,?,?)",
        (name, kind, signature, labelled_by, annotators or None),
    )
    assert cursor.lastrowid is not None
    return cursor.lastrowid


RULES_REPEATED = "rules"
"""The signature of a model that only repeats what the rules propose, where nothing judged: no second opinion."""


def source_id(connection: sqlite3.Connection, name: str) -> int | None:
    """The id of a source; None if there is none of this name."""
    known: int | None = read_value(connection, "SELECT id FROM sources WHERE name = ?", (name,))
    return known


def require_source(connection: sqlite3.Connection, name: str) -> int:
    """The id of a source that an earlier stage has made."""
    known = source_id(connection, name)
    assert known is not None, f"{name} has run"
    return known


def clear(connection: sqlite3.Connection) -> None:
    """Forget every source and triplet: a triplet keeps the full phrases of its first source, so none may outlive it."""
    for table in ("sources", "training_sets", "triplets", "lexicon_use"):
        connection.execute(f"DELETE FROM {table}")


def drop_sources(connection: sqlite3.Connection, kind: str, prefix: str = "") -> None:
    """Forget sources of a kind, and triplets that nobody proposes any more."""
    connection.execute("DELETE FROM sources WHERE kind = ? AND name LIKE ? || '%'", (kind, prefix))
    drop_orphans(connection)


def drop_orphans(connection: sqlite3.Connection) -> None:
    """Delete triplets that nobody proposes any more."""
    connection.execute(
        "DELETE FROM triplets WHERE NOT EXISTS (SELECT 1 FROM proposals p WHERE p.triplet = triplets.id)"
    )


def propose(
    connection: sqlite3.Connection, source: int, rows: Iterable[tuple[int, Triplet]], *, overrule: bool = False
) -> list[int]:
    """Store (review id, triplet in stored offsets) as proposals of `source`; returns their triplet ids in order.

    Full phrases, owner and valence of a triplet are those of its first proposer, unless a later one may `overrule`,
    as people may.
    """
    return propose_prepared(connection, source, prepare(rows), overrule=overrule)


def propose_prepared(
    connection: sqlite3.Connection, source: int, rows: Sequence[PreparedTriplet], *, overrule: bool = False
) -> list[int]:
    """As `propose`, of rows that are prepared."""
    _insert_rows(connection, (row for row, _ in rows), overrule)
    queries.insert(connection, "proposals", _PROPOSAL, ((source, row[0], *proposal) for row, proposal in rows), _STAYS)
    return [row[0] for row, _ in rows]  # type: ignore[misc]


def insert(connection: sqlite3.Connection, ids: Sequence[int], rows: Sequence[tuple[int, Triplet]]) -> None:
    """Store triplets under given ids, without saying who proposes them."""
    _insert_rows(connection, (make_row(i, *row) for i, row in zip(ids, rows, strict=True)), overrule=False)


def repeat(connection: sqlite3.Connection, source: int, repeating: int) -> None:
    """Have another source propose all that a source does for the reviews of any split, without its story."""
    connection.execute(
        "INSERT INTO proposals (source, triplet, confidence, rule, story)"
        " SELECT ?, p.triplet, NULL, NULL, '[]' FROM proposals p JOIN reviews r ON r.id = p.triplet >> 31"
        " WHERE p.source = ? AND r.split IS NOT NULL ORDER BY p.triplet",
        (repeating, source),
    )


def _insert_rows(connection: sqlite3.Connection, rows: Iterable[tuple[object, ...]], overrule: bool) -> None:
    columns = "id, review, aspect, aspect_full, owner, opinion, opinion_full, polarity, valence, spans"
    queries.insert(connection, "triplets", columns, rows, f"ON CONFLICT (id) DO {_OVERRULE}" if overrule else _STAYS)


def proposed_by(connection: sqlite3.Connection, source: int, rows: Iterable[tuple[int, tuple[str, ...]]]) -> None:
    """Note that `source` proposes stored triplets, `rows` of (triplet id, rules) of a release, without evidence."""
    stories = ((i, rules, json.dumps([("rule", rule) for rule in rules], ensure_ascii=False)) for i, rules in rows)
    proposals = ((source, i, None, rules[0] if rules else None, story, *(None,) * 5) for i, rules, story in stories)
    queries.insert(connection, "proposals", _PROPOSAL, proposals, _STAYS)


def credit(connection: sqlite3.Connection, source: int, rules: int, origins: Mapping[int, int]) -> None:
    """Note of triplets that `source` proposes that they are the `rules`' own in other words: triplet id -> id of the
    rules'. They have its rule and story, which goes on with its words, and the categories of words that are the same.
    """
    connection.executemany(
        "UPDATE proposals SET rule = p.rule, margin = p.margin,"
        " story = json_insert(p.story, '$[#]', json_array('words', '(' || b.aspect || ', ' || b.opinion || ')')),"
        " aspect_category = CASE a.aspect WHEN b.aspect THEN p.aspect_category END,"
        " opinion_category = CASE a.opinion WHEN b.opinion THEN p.opinion_category END"
        " FROM proposals p, triplets a, triplets b"
        " WHERE proposals.source = ? AND proposals.triplet = ? AND p.source = ? AND p.triplet = ?"
        " AND a.id = proposals.triplet AND b.id = p.triplet",
        ((source, triplet, rules, origin) for triplet, origin in origins.items()),
    )


def judge(connection: sqlite3.Connection, source: int, rows: Iterable[tuple[int, str | None, float]]) -> None:
    """`rows` of (triplet id, label or None for no verdict, score)."""
    judged_rows = ((source, *row) for row in rows)
    queries.insert(connection, "verdicts", "source, triplet, label, score", judged_rows, _STAYS)


def verdicts(connection: sqlite3.Connection, source: int) -> dict[int, Verdict | None]:
    """The verdict of a source on each triplet it judged; None where it abstained."""
    return dict(connection.execute("SELECT triplet, label FROM verdicts WHERE source = ?", (source,)))


_PROPOSED = "proposals p CROSS JOIN triplets t ON t.id = p.triplet CROSS JOIN reviews r ON r.id = t.review"
"""Joined in this order rows come in that of `proposals`, by triplet, one at a time: nothing is sorted, nothing held."""
_DRAWN = (
    f" AND t.review IN (SELECT r.id FROM reviews r WHERE r.split = :split AND {PROPOSED_FOR} ORDER BY r.norm_hash"
    " LIMIT :most)"
)


def proposed(
    connection: sqlite3.Connection, source: int, split: str, most: int | None = None, within: tuple[int, int] = EVERY
) -> Iterator[StoredTriplet]:
    """The triplets that a source proposes for the reviews of a split, by review and place, as a stream.

    `most`: of so many reviews at most, those whose hashes come first, so that more reviews change few of them.
    `within`: of the reviews from one row id to another.
    """
    rows = connection.execute(
        f"SELECT {TRIPLET_COLUMNS} FROM {_PROPOSED} WHERE p.source = :source AND p.triplet BETWEEN :first AND :last"
        f" AND r.split = :split{_DRAWN if most is not None else ''} ORDER BY p.triplet",
        {"source": source, "split": split, "most": most, "first": within[0] << BITS, "last": within[1] << BITS | HASH},
    )
    yield from map(restore, rows)


def judged(
    connection: sqlite3.Connection, source: int, judge: int, split: str, within: tuple[int, int] = EVERY
) -> Iterator[JudgedTriplet]:
    """As `proposed`, with what a judge says of each."""
    rows = connection.execute(
        f"SELECT p.confidence, v.label, v.score, p.rule, {TRIPLET_COLUMNS} FROM {_PROPOSED}"
        " LEFT JOIN verdicts v ON v.source = ? AND v.triplet = p.triplet"
        " WHERE p.source = ? AND p.triplet BETWEEN ? AND ? AND r.split = ? ORDER BY p.triplet",
        (judge, source, within[0] << BITS, within[1] << BITS | HASH, split),
    )
    for confidence, label, score, rule, *row in rows:
        yield JudgedTriplet(restore(tuple(row)), confidence, label, score, rule or "")


def count(connection: sqlite3.Connection, source: int, split: str) -> int:
    """How many triplets a source proposes for the reviews of a split."""
    asked = (
        "SELECT count(*) FROM proposals p JOIN reviews r ON r.id = p.triplet >> 31 WHERE p.source = ? AND r.split = ?"
    )
    return int(read_value(connection, asked, (source, split)))


def counts(connection: sqlite3.Connection, name: str) -> dict[str, int | float | str]:
    """Triplets of a source by polarity, and the reviews that have one."""
    whole = connection.execute(
        "SELECT count(*), count(DISTINCT t.review), total(t.polarity = 'POS'), total(t.polarity = 'NEG'),"
        " total(t.polarity = 'NEU') FROM proposals p JOIN sources s ON s.id = p.source AND s.name = ?"
        " JOIN triplets t ON t.id = p.triplet",
        (name,),
    ).fetchone()
    return dict(zip(("triplets", "reviews", "POS", "NEG", "NEU"), map(int, whole), strict=True))


def label_counts(connection: sqlite3.Connection, source: int) -> dict[str, int]:
    """How often a source said each label, and how often it abstained, if it did."""
    counts = dict(
        connection.execute("SELECT label, count(*) FROM verdicts WHERE source = ? GROUP BY label", (source,)).fetchall()
    )
    return {label: int(counts.get(label, 0)) for label in ("YY", "YN", "NX")} | (
        {"abstained": int(counts[None])} if None in counts else {}
    )


def subset(connection: sqlite3.Connection, ids: Sequence[int], most: int | None = None) -> Iterator[StoredTriplet]:
    """Triplets by id, by review and place; `most` as in `proposed`."""
    drawn = (
        " AND t.review IN (SELECT d.id FROM reviews d WHERE d.id IN (SELECT value >> 31 FROM json_each(:ids))"
        " ORDER BY d.norm_hash LIMIT :most)"
    )
    rows = connection.execute(
        f"SELECT {TRIPLET_COLUMNS} FROM triplets t WHERE t.id IN (SELECT value"
        f" FROM json_each(:ids)){drawn if most is not None else ''} ORDER BY t.id",
        {"ids": json.dumps(ids), "most": most},
    )
    yield from map(restore, rows)


def signatures(connection: sqlite3.Connection) -> dict[str, str]:
    """Source name -> its signature, gold left out."""
    return dict(connection.execute("SELECT name, signature FROM sources WHERE kind <> 'gold' ORDER BY id"))


# ---- Training sets


def set_training(connection: sqlite3.Connection, variant: str, round_: int, ids: Iterable[int]) -> None:
    """Store the training set of a round: the ids of its triplets."""
    connection.execute("DELETE FROM training_sets WHERE variant = ? AND round = ?", (variant, round_))
    queries.insert(connection, "training_sets", "variant, round, triplet", ((variant, round_, i) for i in ids))


def train_on(connection: sqlite3.Connection, variant: str, round_: int, source: int) -> None:
    """Make what a source proposes for the train split the training set of a round."""
    connection.execute("DELETE FROM training_sets WHERE variant = ? AND round = ?", (variant, round_))
    connection.execute(
        "INSERT INTO training_sets (variant, round, triplet) SELECT ?, ?, p.triplet"
        " FROM proposals p JOIN reviews r ON r.id = p.triplet >> 31 WHERE p.source = ? AND r.split = 'train'",
        (variant, round_, source),
    )


def training_counts(connection: sqlite3.Connection, variant: str, round_: int, source: int) -> tuple[int, int, int]:
    """Of a training set the reviews, the triplets, and of these those that a source proposes too."""
    reviews, total, shared = connection.execute(
        "SELECT count(DISTINCT s.triplet >> 31), count(*), count(p.triplet) FROM training_sets s"
        " LEFT JOIN proposals p ON p.triplet = s.triplet AND p.source = ? WHERE s.variant = ? AND s.round = ?",
        (source, variant, round_),
    ).fetchone()
    return reviews, total, shared


def training(
    connection: sqlite3.Connection, variant: str, round_: int, within: tuple[int, int] = EVERY
) -> Iterator[StoredTriplet]:
    """S_round of a variant, by review and place; `within`: of the reviews from one row id to another."""
    rows = connection.execute(
        f"SELECT {TRIPLET_COLUMNS} FROM training_sets s CROSS JOIN triplets t ON t.id = s.triplet"
        " WHERE s.variant = ? AND s.round = ? AND s.triplet BETWEEN ? AND ? ORDER BY s.triplet",
        (variant, round_, within[0] << BITS, within[1] << BITS | HASH),
    )
    yield from map(restore, rows)


# ---- Use of the lexicon

Entry = tuple[str, str, str, str]
"""list (aspects or opinions), word, category, place (file:line)."""


def record(connection: sqlite3.Connection, entries: Iterable[Entry]) -> None:
    """Replace the table by `entries`, each with the number of proposals that rest on it."""
    with db.atomic(connection):
        connection.execute("DELETE FROM lexicon_use")
        used = dict(
            connection.execute(
                "SELECT entry, count(*) FROM (SELECT aspect_entry AS entry FROM proposals UNION ALL"
                " SELECT opinion_entry FROM proposals) GROUP BY entry"
            ).fetchall()
        )
        counted = ((*entry, used.get(entry[-1], 0)) for entry in entries)
        queries.insert(connection, "lexicon_use", "list, word, category, place, triplets", counted)
