"""What the report asks of a working directory: counts, contributions, answers and labels as plain rows. Reads only."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from builder.core.records import Span
from builder.reviews.repair import fold
from builder.store import queries, released, runs
from builder.store.triplets import RULES_REPEATED

Rows = list[tuple[str | int | float | None, ...]]


@dataclass(frozen=True, slots=True)
class StoredSource:
    """Who proposes or judges: `kind` is rules, model, discriminator, gold or llm. `annotators`: who labelled gold."""

    id: int
    name: str
    kind: str
    signature: str
    annotators: str = ""


@dataclass(frozen=True, slots=True)
class ProposedTriplet:
    """A triplet that a source proposes for a review."""

    id: int
    review: str
    aspect: str
    opinion: str
    polarity: str


def sources(connection: sqlite3.Connection) -> list[StoredSource]:
    """Who proposes triplets, in the order in which they came; not who only repeats the rules."""
    rows = connection.execute("SELECT id, name, kind, signature, coalesce(annotators, '') FROM sources ORDER BY id")
    return [StoredSource(*row) for row in rows if (row[2], row[3]) != ("model", RULES_REPEATED)]


def by_source(connection: sqlite3.Connection) -> Rows:
    """(source, split, reviews with a triplet, triplets, POS, NEG, NEU), splits in the order train, valid, test."""
    return connection.execute(
        "SELECT s.name, r.split, count(DISTINCT t.review), count(*), sum(t.polarity = 'POS'), sum(t.polarity = 'NEG'),"
        " sum(t.polarity = 'NEU')"
        " FROM proposals p JOIN sources s ON s.id = p.source JOIN triplets t ON t.id = p.triplet"
        " JOIN reviews r ON r.id = t.review"
        " WHERE NOT (s.kind = 'model' AND s.signature = ?)"
        " GROUP BY s.id, r.split ORDER BY s.id, r.split = 'test', r.split = 'valid'",
        (RULES_REPEATED,),
    ).fetchall()


def rejected(connection: sqlite3.Connection) -> Rows:
    """(stage, reason, number), most frequent first."""
    return connection.execute(
        "SELECT stage, reason, count(*) FROM rejected GROUP BY stage, reason ORDER BY count(*) DESC, stage, reason"
    ).fetchall()


def duplicates(connection: sqlite3.Connection) -> Rows:
    """(kind, number) of the reviews that repeat an earlier one."""
    return connection.execute(
        "SELECT duplicate_kind, count(*) FROM reviews WHERE duplicate_of IS NOT NULL GROUP BY 1 ORDER BY 1"
    ).fetchall()


def figures(connection: sqlite3.Connection) -> list[dict[str, str | float | None]]:
    """What gold reviews say of the last release, a figure each; none where there are no gold reviews."""
    return list(json.loads(runs.setting(connection, "release.figures") or "[]"))


def totals(connection: sqlite3.Connection) -> tuple[int, int, int, int]:
    """Distinct (triplets, aspects, opinions, reviews with a triplet) of all sources; a word in both scripts is one."""
    connection.create_function("fold", 1, fold, deterministic=True)
    row = connection.execute(
        "SELECT count(*), count(DISTINCT fold(aspect)), count(DISTINCT fold(opinion)), count(DISTINCT review)"
        " FROM triplets"
    ).fetchone()
    return int(row[0]), int(row[1]), int(row[2]), int(row[3])


def per_review(connection: sqlite3.Connection, source: int) -> Rows:
    """(triplets of a review, reviews with so many), reviews without one included."""
    return connection.execute(
        "SELECT n, count(*) FROM (SELECT r.id, count(p.triplet) AS n FROM reviews r"
        " LEFT JOIN triplets t ON t.review = r.id"
        " LEFT JOIN proposals p ON p.triplet = t.id AND p.source = ? WHERE r.duplicate_of IS NULL GROUP BY r.id)"
        " GROUP BY n ORDER BY n",
        (source,),
    ).fetchall()


def discriminator_data(connection: sqlite3.Connection, rules: int) -> Rows:
    """(split, rows, YY, YN, NX) of the discriminator's data (paper, section 3.3.2 and Table 1), counted from the
    rules' triplets: a YY and a YN each, and twice as many NX pairs as there are YY, or all unpaired ones where there
    are fewer. A row is its words: a triplet whose words stand twice in a review counts once.
    """
    return connection.execute(
        "SELECT split, sum(2 * n + nx), sum(n), sum(n), sum(nx) FROM (SELECT r.split,"
        " count(DISTINCT t.aspect || char(31) || t.opinion || char(31) || t.polarity) AS n,"
        " min(2 * count(DISTINCT t.aspect || char(31) || t.opinion || char(31) || t.polarity),"
        " count(DISTINCT t.aspect) * count(DISTINCT t.opinion)"
        " - count(DISTINCT t.aspect || char(31) || t.opinion)) AS nx"
        " FROM proposals p JOIN triplets t ON t.id = p.triplet JOIN reviews r ON r.id = t.review WHERE p.source = ?"
        " GROUP BY t.review)"
        " GROUP BY split ORDER BY split = 'test', split = 'valid'",
        (rules,),
    ).fetchall()


def verdicts(connection: sqlite3.Connection, judge: int, split: str) -> dict[int, str | None]:
    """Triplet id -> label of a judge (None: it abstains), in a split."""
    return dict(
        connection.execute(
            "SELECT v.triplet, v.label FROM verdicts v JOIN triplets t ON t.id = v.triplet"
            " JOIN reviews r ON r.id = t.review"
            " WHERE v.source = ? AND r.split = ? ORDER BY v.triplet",
            (judge, split),
        )
    )


def accepted(connection: sqlite3.Connection, judge: int, split: str = "") -> Rows:
    """(source, judged, YY, YN, NX, abstained) by a judge, in one split if it is named."""
    return connection.execute(
        "SELECT s.name, count(*), sum(v.label = 'YY'), sum(v.label = 'YN'), sum(v.label = 'NX'),"
        " sum(v.label IS NULL) FROM verdicts v JOIN proposals p ON p.triplet = v.triplet"
        " JOIN sources s ON s.id = p.source JOIN reviews r ON r.id = v.triplet >> 31"
        " WHERE v.source = ?1 AND (?2 = '' OR r.split = ?2) GROUP BY s.id ORDER BY s.id",
        (judge, split),
    ).fetchall()


def kept_by_rule(connection: sqlite3.Connection) -> tuple[tuple[str, ...], Rows]:
    """Columns and rows of the query `kept-by-rule`: what became of the triplets of each rule, by polarity."""
    cursor = connection.execute(queries.lookup("kept-by-rule").sql)
    return tuple(name for name, *_ in cursor.description), cursor.fetchall()


def losses(connection: sqlite3.Connection) -> list[tuple[str, int, int]]:
    """(rule, triplets, how many of them were dropped) of every rule."""
    sql = queries.lookup("kept-by-rule").sql
    return connection.execute(f"SELECT rule, sum(found), coalesce(sum(dropped), 0) FROM ({sql}) GROUP BY 1").fetchall()


def proposed_by_rules(connection: sqlite3.Connection) -> list[tuple[str, str, str, str, str]]:
    """(rule, review, aspect, opinion, polarity) of every triplet that a rule made."""
    return connection.execute(
        "SELECT p.rule, r.key, t.aspect, t.opinion, t.polarity FROM proposals p JOIN triplets t ON t.id = p.triplet"
        " JOIN reviews r ON r.id = t.review JOIN sources s ON s.id = p.source AND s.kind = 'rules'"
        " WHERE p.rule IS NOT NULL ORDER BY t.id"
    ).fetchall()


def lexicon_uses(connection: sqlite3.Connection) -> Iterator[tuple[str | None, bool, int, int]]:
    """(entry, whether it has a category, times, different words) of the words that proposals rest on. `entry`: file
    and line of the lexicon, None of words that it does not hold.
    """
    for part in ("aspect", "opinion"):
        yield from connection.execute(
            f"SELECT p.{part}_entry, p.{part}_category IS NOT NULL, count(*), count(DISTINCT e.value ->> 1)"
            " FROM proposals p JOIN sources s ON s.id = p.source AND s.kind = 'rules', json_each(p.story) e"
            " WHERE e.value ->> 0 = ? GROUP BY 1, 2 ORDER BY 1, 2",
            (part,),
        )


def judged(connection: sqlite3.Connection, polarity: str) -> list[tuple[str, str, int]]:
    """(aspect, opinion, triplets) of a polarity in the release, or in the candidates where nothing is released."""
    chosen = "released_triplets" if released.totals(connection)["triplets"] else "triplets"
    return connection.execute(
        f"SELECT aspect, opinion, count(*) FROM {chosen} WHERE polarity = ? GROUP BY 1, 2 ORDER BY 3 DESC, 1, 2",
        (polarity,),
    ).fetchall()


def judged_places(connection: sqlite3.Connection) -> list[tuple[str, str, str, int]]:
    """(place, aspect, polarity, triplets) of the release, for reviews whose place is known."""
    return connection.execute(
        "SELECT place, aspect, polarity, count(*) FROM released_triplets"
        " WHERE place <> '' GROUP BY 1, 2, 3 ORDER BY 4 DESC, 1, 2, 3"
    ).fetchall()


def reviews_with(connection: sqlite3.Connection, aspect: str, most: int) -> list[tuple[str, str | None]]:
    """(text, place) of up to `most` reviews in which a triplet has this aspect."""
    return connection.execute(
        "SELECT DISTINCT r.text, r.place FROM triplets t JOIN reviews r ON r.id = t.review WHERE t.aspect = ? LIMIT ?",
        (aspect, most),
    ).fetchall()


def reviews(connection: sqlite3.Connection, split: str) -> list[str]:
    """The keys of a split's distinct reviews."""
    rows = connection.execute("SELECT key FROM reviews WHERE duplicate_of IS NULL AND split = ? ORDER BY id", (split,))
    return [row[0] for row in rows]


def proposed(connection: sqlite3.Connection, source: int, split: str) -> list[ProposedTriplet]:
    """What a source proposes in a split, by review and place."""
    rows = connection.execute(
        "SELECT t.id, r.key, t.aspect, t.opinion, t.polarity FROM proposals p JOIN triplets t ON t.id = p.triplet"
        " JOIN reviews r ON r.id = t.review WHERE p.source = ? AND r.split = ? ORDER BY t.review, t.id",
        (source, split),
    )
    return [ProposedTriplet(*row) for row in rows]


@dataclass(frozen=True, slots=True)
class Marked:
    """A triplet to show in its text: spans of aspect and opinion, its polarity, and who proposes it."""

    aspect: str
    opinion: str
    polarity: str
    aspect_spans: tuple[Span, ...]
    opinion_spans: tuple[Span, ...]
    sources: str


def examples(
    connection: sqlite3.Connection, longest: int, limit: int
) -> list[tuple[str, str, str | None, list[Marked]]]:
    """(key, text, place, triplets) of up to `limit` reviews of at most `longest` characters with two to five triplets,
    in an order that is chance and always the same (by hash); those with several polarities first. Triplets are those of
    the release, or candidates that nothing dropped where nothing is released.
    """
    shown, kept = _choose_triplets(connection)
    rows = connection.execute(
        f"SELECT r.id, r.key, r.text, r.place FROM {shown} t JOIN reviews r ON r.id = t.review WHERE {kept}"
        " AND length(r.text) BETWEEN 15 AND ? GROUP BY r.id HAVING count(*) BETWEEN 2 AND 5"
        " ORDER BY count(DISTINCT t.polarity) DESC, r.split IS NOT 'test', r.norm_hash LIMIT ?",
        (longest, limit),
    ).fetchall()
    return [(key, text, place, _mark_triplets(connection, review, shown, kept)) for review, key, text, place in rows]


def _choose_triplets(connection: sqlite3.Connection) -> tuple[str, str]:
    """The view that has the triplets to show, and the condition on its rows `t`."""
    if connection.execute("SELECT EXISTS (SELECT 1 FROM released)").fetchone()[0]:
        return "released_triplets", "TRUE"
    return "candidate_triplets", "t.dropped IS NULL"


def _mark_triplets(connection: sqlite3.Connection, review: int, shown: str, kept: str) -> list[Marked]:
    """The triplets of a review. Who says each, the release tells; of candidates `provenance`, by an index: the column
    `sources` of their view reads all proposals.
    """
    rows = connection.execute(
        f"SELECT t.id, t.aspect, t.opinion, t.polarity, x.spans, e.sources FROM {shown} t"
        " JOIN triplets x ON x.id = t.id LEFT JOIN released e ON e.triplet = t.id"
        f" WHERE {kept} AND t.review = ?",
        (review,),
    ).fetchall()
    provenances = released.provenance(connection, review)
    out = []
    for i, aspect, opinion, polarity, spans, names in rows:
        if names is None:
            names = " ".join(provenances[i].sources) if i in provenances else ""
        at = {name: tuple((start, end) for start, end in places) for name, places in json.loads(spans).items()}
        out.append(Marked(aspect, opinion, polarity, at["aspect"], at["opinion"], names))
    return sorted(out, key=lambda marked: (marked.opinion_spans, marked.aspect_spans))


def releases(connection: sqlite3.Connection) -> Rows:
    """(version, digest of the data)."""
    return connection.execute("SELECT version, substr(digest, 1, 16) FROM releases ORDER BY version").fetchall()


def keep_cells(connection: sqlite3.Connection, cells: Sequence[tuple[str, int, str, str | int | float | None]]) -> None:
    """Replace the numbers of the last report by `cells` of (table, line from 1, column, value)."""
    connection.execute("DELETE FROM report_cells")
    connection.executemany('INSERT INTO report_cells ("table", line, "column", value) VALUES (?,?,?,?)', cells)
