"""Where labelled reviews come from, and what they have taught a working directory.

Sources are a gold file, a user's own table, or pools and audits of a working directory. In: a path. Out: rows with
`id`, `text` and `triplets` with their spans. A row of a review that nobody read in full has `wrong`, too: the triplets
that people refused there. A label that cannot be placed in its review is left out with the reason. Its review then no
longer counts as read in full.

Teaching gives words, weights and exceptions that the next build uses. In: labelled rows and a working directory. Out:
aspects in `WORKDIR/lexicon`, weights of rules and reader in `WORKDIR/taught`, `WORKDIR/taught.json`, which counts the
reviews, and the labels themselves in `WORKDIR/taught.jsonl`. Teaching again starts from what was there without what was
taught, so that no label counts twice. Entries that a correction asks for are tried out before they are added.
"""

from __future__ import annotations

import hashlib
import json
import shutil
import sqlite3
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, replace
from itertools import zip_longest
from pathlib import Path
from typing import Any, get_args

from builder.core.errors import InputError, ResourceError, WorkdirError, shortened
from builder.core.files import read_cells, write_atomically
from builder.core.records import Label, PoolReview, Triplet
from builder.core.wording import counted
from builder.engine.reader import Recipe, make_reader
from builder.gold.items import meant
from builder.gold.located import locate_triplets
from builder.gold.pool import triplet_row
from builder.language.lexicon.check import REASON, Lesson, Table, add_entry, find_lessons
from builder.language.lexicon.folders import TAUGHT_MODEL, Folders, folders_in
from builder.language.lexicon.overlay import Overlay, add_exception, write
from builder.language.lexicon.resources import Lexicon, overlays
from builder.language.lexicon.rules import RuleExample, edited_file, edited_rules
from builder.language.lexicon.tsv_rows import read_rows
from builder.pipeline import layers
from builder.pipeline.extraction import build_settings, make_recipe
from builder.pipeline.layers import taught_file
from builder.pipeline.rule_changes import quote_triplet
from builder.reviews.text import view
from builder.store import pool_labels, pools
from builder.teaching.labelling import opened
from builder.teaching.lessons import LABELS, Lessons, Rows, learn, read_taught

# ---- Sources of labels

COLUMNS = ("text", "aspect", "opinion", "polarity")
TABLES = (".csv", ".tsv")
_SHEETS = (".xlsx", ".xls", ".ods", ".numbers")
_SHOWN = 5
"""Labels that an error shows."""
_LONGEST = 20
"""Characters of each word of a label that are shown."""
Row = dict[str, Any]


@dataclass(frozen=True, slots=True)
class LeftOut:
    """A label that is none of its review: where it stands, what it says, and why it is left out."""

    where: str
    label: str
    reason: str

    def __str__(self) -> str:
        return f"{self.where}: {self.label}: {self.reason}"


@dataclass(frozen=True, slots=True)
class LabelledRows:
    """Labelled reviews, and the labels that were left out."""

    rows: tuple[Row, ...]
    left_out: tuple[LeftOut, ...] = ()


def read_labels(path: Path) -> LabelledRows:
    """The labels of a file: JSON lines, or a table with a row for each triplet and the columns of COLUMNS, `id` if it
    likes. A review without a triplet has one row with no aspect.

    InputError where the file cannot be read, or most of its labels do not fit their reviews.
    """
    if path.suffix.lower() in _SHEETS:
        raise InputError("labels are JSON lines, CSV or TSV", where=str(path), fix="save the sheet as CSV UTF-8")
    given: list[Row] = _read_table(path) if path.suffix.lower() in TABLES else layers.rows(str(path))
    left_out: list[LeftOut] = []
    rows = [placed for row in given if (placed := _place(row, left_out)) is not None]
    labels = sum(len(row["triplets"]) for row in given)
    if 2 * len(left_out) > labels:
        shown = "; ".join(map(str, left_out[:_SHOWN]))
        raise InputError(
            f"{len(left_out):,} of {counted(labels, 'label')} do not fit their reviews ({shown})",
            where=str(path),
            fix="write words as the review has them, and POS, NEG or NEU",
        )
    return LabelledRows(tuple(rows), tuple(left_out))


def _read_table(path: Path) -> list[Row]:
    (_, header), *table = read_cells(path, InputError) or [(1, [])]
    names = [name.strip().lower() for name in header]
    if missing := [name for name in COLUMNS if name not in names]:
        fix = f"columns: {', '.join(COLUMNS)}, and `id` if you like; a row for each triplet"
        has = f"; it has {', '.join(names)}" if names else ""
        raise InputError(f"there is no column {missing[0]!r}{has}", where=str(path), fix=fix)
    by_review: dict[str, Row] = {}
    for line, row_cells in table:
        if not any(row_cells):
            continue
        cell = dict(zip_longest(names, row_cells[: len(names)], fillvalue=""))
        review = cell["text"]
        if not review.strip():
            raise InputError("a row has no text", where=f"{path}:{line}", fix="repeat the review in each of its rows")
        key = cell.get("id") or hashlib.sha256(review.encode()).hexdigest()[:16]
        row = by_review.setdefault(key, {"id": key, "text": review, "triplets": [], "lines": []})
        if row["text"] != review:
            raise InputError(f"review {key!r} has two texts", where=f"{path}:{line}", fix="give each review its id")
        label = {name: cell[name].strip() for name in COLUMNS[1:]}
        if label["aspect"] or label["opinion"]:
            row["triplets"].append(label)
            row["lines"].append(line)
    return list(by_review.values())


def _place(row: Row, left_out: list[LeftOut]) -> Row | None:
    """The row with the spans of each triplet that has none; None where no label of a review is left.

    A review that lost a label is one that nobody read in full.
    """
    lines = row.pop("lines", None)
    labels, text = row["triplets"], row.get("text")
    bare = [i for i, label in enumerate(labels) if isinstance(label, Mapping) and "aspect_spans" not in label]
    if not bare or not isinstance(text, str):
        return dict(row)
    located, faulty = locate_triplets([labels[i] for i in bare], text)
    for number, reason in faulty.items():
        at = bare[number]
        words = " ".join(shortened(str(labels[at].get(name, "")), _LONGEST) for name in COLUMNS[1:])
        left_out.append(LeftOut(f"line {lines[at]}" if lines else f"review {row['id']}", words, reason))
    kept = [label for i, label in enumerate(labels) if i not in bare]
    triplets = [*kept, *(triplet_row(triplet) for triplet in located)]
    if faulty and not triplets:
        return None
    return {**row, "triplets": triplets, **({"wrong": []} if faulty else {})}


def read_workdir(workdir: Path, pool: str | None = None) -> LabelledRows:
    """What people decided in a pool or an audit of a working directory; in all of them if none is named. A review in
    several counts as the newest has it.
    """
    rows: dict[str, Row] = {}
    with opened(workdir) as connection:
        known = [pools.chosen(connection, pool)] if pool else [str(row[0]) for row in pools.summarise(connection)]
        if not known:
            pools.chosen(connection, None)
        for name in known:
            rows |= {row["id"]: row for row in _read_pool(connection, name)}
    return LabelledRows(tuple(rows.values()))


def _read_pool(connection: sqlite3.Connection, name: str) -> Iterator[Row]:
    labels = {candidate: label for candidate, (label, _) in pool_labels.final(connection, name).items()}
    people = pool_labels.of_pool(connection, name, "human")
    checked = {review for who in people for review in pool_labels.checked(connection, name, who)}
    audit = pools.is_audit(connection, name)
    read_in_full = pools.complete(connection, name) if audit else checked
    for review in pools.read(connection, name).reviews:
        asked = [candidate.id for candidate in review.candidates if candidate.n is not None]
        decided = all(candidate in labels and labels[candidate].label for candidate in asked)
        row = _row(review, labels)
        if decided and (review.id in read_in_full or (asked and not audit)):
            yield {name: cells for name, cells in row.items() if name != "wrong"}
        elif row["triplets"] or row["wrong"]:
            yield row


def _row(review: PoolReview, labels: Mapping[int, Label]) -> Row:
    """A review with what the labels say of its candidates so far. A wrong polarity is no wrong pair."""
    answered = [(candidate, labels[candidate.id]) for candidate in review.candidates if candidate.id in labels]
    right = [triplet for candidate, label in answered if (triplet := meant(review, candidate, label))]
    wrong = [candidate.triplet for candidate, label in answered if label.label == "NX"]
    return {"id": review.key, "text": review.text, "triplets": _unique(right), "wrong": _unique(wrong)}


def _unique(triplets: Sequence[Triplet]) -> list[Row]:
    ordered = sorted({t.key: t for t in triplets}.values(), key=lambda t: (t.aspect.spans, t.opinion.spans))
    return [triplet_row(triplet) for triplet in ordered]


# ---- What was taught

RECORD = "taught.json"
_WORDS = Path("lexicon", "aspects", f"imported_{LABELS}.tsv")


def teach(rows: Rows, where: Path, workdir: Path, weighed: bool = True, edge_margin: float | None = None) -> Lessons:
    """Write what all labels teach into a working directory, in place of what labels taught before. `weighed` is as in
    `learn`, `edge_margin` as in `BorderHabit`.
    """
    with untaught(workdir) as folders:
        reader = make_reader(Recipe(folders=folders))
        lessons = learn(read_taught(rows, where, reader), reader, folders, weighed)
    forget(workdir)
    whole = [row for row in rows if "wrong" not in row]
    lines = "".join(json.dumps({name: row[name] for name in ("id", "text", "triplets")}) + "\n" for row in whole)
    write_atomically(taught_file(workdir), lines.encode())
    if folders.model is not None and (lessons.combiner is not None or edge_margin is not None):
        from builder.models.shipped import write_taught

        write_taught(workdir / TAUGHT_MODEL, folders.model, lessons.combiner, edge_margin)
    write_atomically(workdir / RECORD, (json.dumps({"labels": len(rows)}) + "\n").encode())
    write(Overlay(LABELS, aspects=tuple(lessons.aspects.items())), workdir / "lexicon")
    return lessons


@dataclass(frozen=True, slots=True)
class TakenBack:
    """What labels had taught: rules, aspects, and how many labelled reviews there were."""

    rules: int
    aspects: int
    reviews: int


def forget(workdir: Path) -> TakenBack | None:
    """Take back what labels taught; None where they taught nothing."""
    (names, reviews), words, labels = _read_record(workdir), workdir / _WORDS, taught_file(workdir)
    record = workdir / RECORD
    was_taught = record.is_file()
    aspects = len(list(read_rows(words, 2))) if words.is_file() else 0
    for name in names:
        edited_file(workdir, name).unlink(missing_ok=True)
    words.unlink(missing_ok=True)
    record.unlink(missing_ok=True)
    labels.unlink(missing_ok=True)
    shutil.rmtree(workdir / TAUGHT_MODEL, ignore_errors=True)
    return TakenBack(len(names), aspects, reviews) if was_taught else None


@contextmanager
def untaught(workdir: Path) -> Iterator[Folders]:
    """The folders of a working directory without what labels taught."""
    folders = folders_in(workdir)
    if not (workdir / RECORD).is_file():
        yield folders
        return
    with tempfile.TemporaryDirectory() as place:
        copy = Path(place)
        for name in ("rules", "lexicon"):
            if (workdir / name).is_dir():
                shutil.copytree(workdir / name, copy / name)
        forget(_copy_record(workdir, copy))
        edited = (copy / "rules",) if any((copy / "rules").glob("*.toml")) else ()
        imported = tuple(
            copy / "lexicon" if folder.resolve() == (workdir / "lexicon").resolve() else folder
            for folder in folders.imported
        )
        imported = tuple(folder for folder in imported if any(folder.rglob("*.tsv")))
        yield replace(folders, edited=edited, imported=imported, taught_model=None)


def _copy_record(workdir: Path, copy: Path) -> Path:
    shutil.copyfile(workdir / RECORD, copy / RECORD)
    return copy


def _read_record(workdir: Path) -> tuple[list[str], int]:
    """The rules that an older version switched off by labels, and how many reviews taught. WorkdirError where it is no
    such record: the names become paths of files that are deleted.
    """
    path = workdir / RECORD
    if not path.is_file():
        return [], 0
    try:
        record = json.loads(path.read_text(encoding="utf-8"))
        names, reviews = record.get("rules", []), int(record["labels"])
        if not isinstance(names, list) or not all(map(_names_rule, names)):
            raise ValueError("`rules` is no list of names of rules")
        return names, reviews
    except (ValueError, KeyError, AttributeError, TypeError, OverflowError, RecursionError) as error:
        raise WorkdirError(f"not readable: {error!r}", where=str(path), fix="delete it, and teach again") from error


def _names_rule(name: object) -> bool:
    return isinstance(name, str) and name.isprintable() and not {"/", "\\"} & set(name)


Json = dict[str, Any]
OFTEN = 2
"""A word is proposed as an exception where so many labels of it, and all of them, say that the pair is wrong."""


class Teacher:
    """Proposes and adds entries of a working directory's own lexicon. Lexicon and models load with the first use."""

    def __init__(self, workdir: Path) -> None:
        self._workdir = workdir
        self._lexicon: Lexicon | None = None

    @property
    def lexicon(self) -> Lexicon:
        """The lexicon of the working directory, as it is after the last entry."""
        if self._lexicon is None:
            self._lexicon = folders_in(self._workdir).load_lexicon()
        return self._lexicon

    def propose(self, text: str, due: Triplet) -> Json:
        """Entries that the lexicon lacks for a triplet, and whether the rules find it in the text with them."""
        lessons = find_lessons(due, self.lexicon)
        works = any(triplet.key == due.key for triplet in self._try(text, lessons)) if lessons else False
        return {"lessons": [asdict(lesson) for lesson in lessons], "works": works}

    def propose_exceptions(self, text: str, wrong: Triplet, words: Sequence[str], pair: bool = True) -> Json:
        """Words that are no aspect and no opinion, and whether the rules then leave out a wrong triplet. Where no word
        is to blame, and the rules make the triplet: its pair of words (`pair`), with the rule that made it.
        """
        lessons = tuple(Lesson("exception", word, REASON) for word in words if word not in self.lexicon.not_aspects)
        if not lessons and pair:
            made = next((triplet for triplet in self._try(text, ()) if triplet.key == wrong.key), None)
            lessons = (Lesson("pair", self._pair(made), made.rule or ""),) if made else ()
        gone = all(triplet.key != wrong.key for triplet in self._try(text, lessons)) if lessons else False
        lessons = tuple(lesson for lesson in lessons if gone or lesson.table != "pair")
        return {"lessons": [asdict(lesson) for lesson in lessons], "works": gone}

    def teach_pair(self, text: str, wrong: Triplet) -> Json:
        """Add the exception of a wrong triplet, with its sentence as an example."""
        pair = self._pair(wrong)
        example = RuleExample(quote_triplet(text, wrong).text, (f"{pair}|{wrong.polarity}",), must=False)
        add_exception(self._workdir, folders_in(self._workdir).load_rules(), pair, example)
        return {"added": pair}

    def _pair(self, triplet: Triplet) -> str:
        """The words of a triplet as rules read them."""
        return "|".join(view(part.text, self.lexicon.variants).text for part in (triplet.aspect, triplet.opinion))

    def teach(self, table: str, word: str, meaning: str) -> Json:
        """Add an entry. ResourceError where it is none."""
        known: tuple[Table, ...] = get_args(Table)
        chosen = next((name for name in known if name == table), None)
        if chosen is None or chosen == "pair":
            raise ResourceError(f"no table {table!r}", fix="known: " + ", ".join(known))
        add_entry(self._workdir / "lexicon", Lesson(chosen, word, meaning), self.lexicon)
        self._lexicon = None
        return {"added": word}

    def _try(self, text: str, lessons: Sequence[Lesson]) -> tuple[Triplet, ...]:
        """What the rules find in a text with these entries, which nothing keeps."""
        folders = folders_in(self._workdir)
        with tempfile.TemporaryDirectory() as folder:
            for lesson in lessons:
                if lesson.table == "pair":
                    example = RuleExample(text, (), must=False)
                    add_exception(Path(folder), folders.load_rules(), lesson.word, example)
                else:
                    add_entry(Path(folder) / "lexicon", lesson, self.lexicon)
            words, rules = overlays(Path(folder)), edited_rules(Path(folder))
            tried = replace(folders, imported=folders.imported + words, edited=folders.edited + rules)
            return make_reader(make_recipe(build_settings(self._workdir), tried)).extract([text])[0]
