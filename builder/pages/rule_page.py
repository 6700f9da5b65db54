"""The page on which a person reads the rules, edits a copy of one, and sees what that changes before it is saved.

In: a working directory, and the text of a rule. Out: its examples with what the rules make of them, and what it changes
in real reviews. A saved rule lies in `WORKDIR/rules/`, over all others of its name; the next build reads it.

A process of its own answers, so that a pattern that never ends can be stopped. A question that takes longer than its
time ends the process. The next question starts another one, and what was saved is on the disk.
"""

from __future__ import annotations

import multiprocessing
import re
import shutil
import tempfile
import threading
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from itertools import islice
from multiprocessing.connection import Connection
from multiprocessing.context import SpawnProcess
from pathlib import Path
from time import monotonic
from typing import Any, get_args

from builder.core.errors import BuilderError, ResourceError
from builder.core.files import parse_toml, read_settings, write_atomically
from builder.core.records import Triplet
from builder.core.settings import Convention
from builder.core.shards.local import begin_worker, main_left_alone
from builder.engine import Doc, RuleEngine, make_engine
from builder.engine.params import in_force, is_off
from builder.engine.reader import Reader, Reading, make_reader, restored, to_text
from builder.gold.server import LabelSite
from builder.language.lexicon.folders import Folders, folders_in
from builder.language.lexicon.packs import RULE_FILES
from builder.language.lexicon.resources import sample_dir
from builder.language.lexicon.rules import Rule, edited_file, edited_rules, read_functions, read_name, write_rule
from builder.language.lexicon.tsv_rows import list_classes
from builder.pipeline.extraction import build_settings, make_recipe
from builder.pipeline.rule_changes import TripletChange, compare_triplets, quote_triplet
from builder.reviews import sources
from builder.reviews.sources.cells import RawReview
from builder.store import db
from builder.store import reviews as readings

Json = dict[str, Any]
Report = Callable[[str, int, int], None]
"""Hears what is being done, how many reviews are done, and of how many."""
_SHOWN = 200
"""Reviews with changes that an answer quotes."""
_STEP = 50
"""Reviews between two reports."""


class RuleBook:
    """The rules of a working directory, to be read, tried and edited. Loaded with the first question; reviews with the
    first comparison.
    """

    def __init__(self, workdir: Path, reviews: int) -> None:
        self._workdir, self._count = workdir, reviews
        self._settings = build_settings(workdir)
        self._reader: Reader | None = None
        self._reviews: list[tuple[str, Reading, Doc]] = []
        self._before: tuple[str, list[tuple[Triplet, ...]]] = ("", [])

    @property
    def convention(self) -> Convention:
        return self._settings.rules.convention

    @property
    def folders(self) -> Folders:
        """The folders of words and rules, as they are now."""
        return folders_in(self._workdir)

    @property
    def reader(self) -> Reader:
        """Lexicon and backend of the working directory."""
        if self._reader is None:
            self._reader = make_reader(make_recipe(self._settings, self.folders))
        return self._reader

    def list_rules(self) -> Json:
        """Every rule in its order, with where it comes from."""
        rules, origins = self.folders.load_rules(), _find_origins(self.folders)
        rows = [
            {
                "name": rule.name, "kind": rule.kind, "about": rule.about, "origin": origins[rule.name],
                "counts": in_force(rule, self.convention), "examples": len(rule.examples),
                "edited": edited_file(self._workdir, rule.name).is_file(), "off": is_off(rule),
            }
            for rule in rules
        ]  # fmt: skip
        return {"rules": rows, "convention": self.convention, "folder": str(self._workdir / "rules")}

    def open_rule(self, name: str) -> Json:
        """The text of a rule and its examples. ResourceError where there is no such rule."""
        rule = next((rule for rule in self.folders.load_rules() if rule.name == name), None)
        if rule is None:
            raise ResourceError(f"no rule is called {name!r}")
        file = edited_file(self._workdir, name)
        edited = file.is_file()
        return {
            "name": name, "text": file.read_text(encoding="utf-8") if edited else write_rule(rule), "edited": edited,
            "origin": _find_origins(self.folders)[name], "where": rule.where, **self._run_examples(rule, self.folders),
        }  # fmt: skip

    def try_rule(self, text: str) -> Json:
        """What the rules make of a rule's examples with the rule as `text` has it."""
        with self._draft(text) as (folders, rule):
            return {"name": rule.name, **self._run_examples(rule, folders)}

    def compare(self, text: str, report: Report) -> Json:
        """What the rule as `text` has it changes in the reviews. Nothing is saved."""
        with self._draft(text) as (folders, rule):
            engine = self._make_engine(folders, self.convention)
            reviews = self._load_reviews(report)
            before = self._read_before(report)
            after = self._extract(engine, "by the edited rule", report)
        counts, rows = Counter[str](), list[Json]()
        for (key, reading, _), old, new in zip(reviews, before, after, strict=True):
            if old == new:
                continue
            texts = [
                [to_text(triplet.bare(), reading.view, reading.text) for triplet in triplets] for triplets in (old, new)
            ]
            changes = list(compare_triplets(*texts))
            counts.update(change.kind for change in changes)
            if changes and len(rows) < _SHOWN:
                rows.append({"key": key, "changes": [_show(reading.text, change) for change in changes]})
        return {
            "reviews": len(reviews), "before": sum(map(len, before)), "after": sum(map(len, after)), "rows": rows,
            "counts": dict(counts), "counting": in_force(rule, self.convention, off=True), "off": is_off(rule),
            "convention": self.convention,
        }  # fmt: skip

    def save_rule(self, text: str) -> Json:
        """Keep a rule in the working directory. ResourceError where the rules cannot run with it."""
        with self._draft(text) as (folders, rule):
            for convention in get_args(Convention):
                self._make_engine(folders, convention)
        write_atomically(edited_file(self._workdir, rule.name), text.encode())
        return {"name": rule.name, "file": str(edited_file(self._workdir, rule.name))}

    def drop_rule(self, name: str) -> Json:
        """Take back what was saved of a rule. ResourceError where nothing was, or another edited rule needs it."""
        file = edited_file(self._workdir, read_name(f"[{name}]"))
        if not file.is_file():
            raise ResourceError(f"nothing is saved of {name!r}", where=str(self._workdir / "rules"))
        with self._without(file.name) as folders:
            left = {rule.name for rule in folders.load_rules()}
        file.unlink()
        return {"name": name, "left": name in left}

    @contextmanager
    def _draft(self, text: str) -> Iterator[tuple[Folders, Rule]]:
        """The folders as they would be with a rule saved, and the rule as the engine would read it."""
        name = read_name(text)
        with self._without("") as folders:
            (folder,) = folders.edited
            (folder / f"{name}.toml").write_text(text, encoding="utf-8")
            yield folders, next(rule for rule in folders.load_rules() if rule.name == name)

    @contextmanager
    def _without(self, file: str) -> Iterator[Folders]:
        """The folders with a copy of what was saved in the working directory, less a file."""
        with tempfile.TemporaryDirectory() as place:
            copy = Path(place) / "rules"
            copy.mkdir()
            for folder in edited_rules(self._workdir):
                for path in folder.glob("*.toml"):
                    if path.name != file:
                        shutil.copyfile(path, copy / path.name)
            yield replace(self.folders, edited=(copy,))

    def _make_engine(self, folders: Folders, convention: Convention) -> RuleEngine:
        return make_engine(self.reader.lexicon, folders.load_rules(), convention)

    def _run_examples(self, rule: Rule, folders: Folders) -> Json:
        """The examples with what they must make, what they make, and whether that is well; the words of the classes
        that the rule names.
        """
        known: Any = rule.params.get("conventions") or (self.convention,)
        convention = self.convention if self.convention in known else known[0]
        engine = self._make_engine(folders, convention)
        rows = []
        for example, made in zip(rule.examples, self._read(engine, [e.text for e in rule.examples]), strict=True):
            written = [f"{t.aspect.text}|{t.opinion.text}|{t.polarity}" for t in made]
            due = set(example.triplets)
            well = due <= set(written) if example.must else due.isdisjoint(written) and bool(due or not written)
            by = [t.rule for t in made]
            rows.append(
                {"text": example.text, "must": example.must, "due": example.triplets, "made": written, "by": by}
                | {"well": well}
            )
        known_classes = self.reader.lexicon.word_classes
        classes = [(f"<{name}>", known_classes.get(name, ())) for name in list_classes(rule.written)]
        counts = in_force(rule, self.convention)
        return {"about": rule.about, "examples": rows, "counts": counts, "kind": rule.kind, "classes": classes}

    def _read(self, engine: RuleEngine, texts: Sequence[str]) -> list[tuple[Triplet, ...]]:
        return [engine.extract(reading.doc) for reading in self.reader.read(texts)]

    def _load_reviews(self, report: Report) -> list[tuple[str, Reading, Doc]]:
        """Reviews of the working directory with their words; those of the shipped sample where it holds none."""
        if not self._reviews:
            report("fetching reviews", 0, self._count)
            read = list(self._fetch()) or self._read_sample()
            self._reviews = [(key, reading, reading.doc) for key, reading in read]
        return self._reviews

    def _fetch(self) -> Iterator[tuple[str, Reading]]:
        if (self._workdir / db.NAME).is_file():
            with db.reading(self._workdir) as connection:
                for review, words in readings.spread(connection, self._count):
                    yield review.key, restored(review, readings.load_words(words), self.reader.lexicon.variants)

    def _read_sample(self) -> list[tuple[str, Reading]]:
        rows = sources.read(sample_dir() / "reviews.csv")
        chosen = list(islice((row for row in rows if isinstance(row, RawReview)), self._count))
        return [
            (row.id or str(number), reading)
            for number, (row, reading) in enumerate(
                zip(chosen, self.reader.read([row.text for row in chosen]), strict=True), start=1
            )
        ]

    def _read_before(self, report: Report) -> list[tuple[Triplet, ...]]:
        """What the rules find as they are saved now."""
        digest = self.folders.rules_digest
        if self._before[0] != digest:
            engine = self._make_engine(self.folders, self.convention)
            self._before = digest, self._extract(engine, "by the rules as they are", report)
        return self._before[1]

    def _extract(self, engine: RuleEngine, how: str, report: Report) -> list[tuple[Triplet, ...]]:
        out = []
        for number, (_, _, doc) in enumerate(self._reviews):
            if number % _STEP == 0:
                report(how, number, len(self._reviews))
            out.append(engine.extract(doc))
        return out


def _find_origins(folders: Folders) -> dict[str, str]:
    """Rule -> what the uppermost folder is that says something of it."""
    roles = {folder.path: folder.role for folder in folders.describe()}
    return {
        name: roles[folder]
        for folder in folders.rule_folders
        for path in sorted(path for pattern in RULE_FILES for path in folder.glob(pattern))
        for name in _list_names(path)
    }


def _list_names(path: Path) -> list[str]:
    """The rules of a file."""
    if path.suffix == ".py":
        return [rule.name for rule in read_functions(path)]
    return list(parse_toml(read_settings(path)))


def _show(text: str, change: TripletChange) -> Json:
    triplet = change.after or change.before
    assert triplet is not None
    quote = quote_triplet(text, triplet)
    return {
        "kind": change.kind, "text": quote.text, "aspect": quote.aspect, "opinion": quote.opinion,
        "before": _parts(change.before), "after": _parts(change.after),
    }  # fmt: skip


def _parts(triplet: Triplet | None) -> tuple[str, str, str] | None:
    return None if triplet is None else (triplet.aspect.text, triplet.opinion.text, triplet.polarity)


# ---- The process that runs the rules

SECONDS = 60.0
"""How long a question may take; comparing reviews takes seconds, and loading as many again."""


Progress = tuple[str, int, int]
"""What is being done, how many reviews are done, and of how many."""
QUESTIONS: Mapping[str, tuple[str, ...]] = {
    "list_rules": (), "open_rule": ("name",), "try_rule": ("text",), "compare": ("text",), "save_rule": ("text",),
    "drop_rule": ("name",),
}  # fmt: skip
"""What a `RuleBook` is asked, with the names of what is given."""


class RuleWorker:
    """Answers one question after another. `progress` may be read at any time."""

    def __init__(self, workdir: Path, reviews: int, seconds: float = SECONDS) -> None:
        self.progress: Progress = ("", 0, 0)
        self._workdir, self._reviews, self._seconds = workdir, reviews, seconds
        self._lock = threading.Lock()
        self._process: SpawnProcess | None = None
        self._pipe: Connection | None = None

    def ask(self, question: str, *given: str) -> Json:
        """The answer to a question. BuilderError where there is none, or none in time."""
        with self._lock:
            try:
                return self._ask(question, given)
            finally:
                self.progress = ("", 0, 0)

    def close(self) -> None:
        if self._process is not None and self._pipe is not None:
            self._process.kill()
            self._process.join()
            self._pipe.close()
            self._process = self._pipe = None

    def _ask(self, question: str, given: tuple[str, ...]) -> Json:
        pipe = self._pipe or self._start()
        end = monotonic() + self._seconds
        try:
            pipe.send((question, given))
            while pipe.poll(max(0.0, end - monotonic())):
                kind, *answer = pipe.recv()
                if kind == "progress":
                    self.progress = (*answer,)
                elif kind == "error":
                    what, where, fix = answer
                    raise ResourceError(what, where=where, fix=fix)
                else:
                    return dict(answer[0])
        except (EOFError, ConnectionError) as error:
            self.close()
            raise ResourceError("the process that runs the rules ended", fix="try again") from error
        self.close()
        message = f"no answer within {self._seconds:g} seconds"
        raise ResourceError(message, fix="a pattern that repeats a repetition, such as (WORD*)*, may take for ever")

    def _start(self) -> Connection:
        context = multiprocessing.get_context("spawn")
        self._pipe, theirs = context.Pipe()
        self._process = context.Process(target=_answer, args=(theirs, self._workdir, self._reviews), daemon=True)
        with main_left_alone():
            self._process.start()
        theirs.close()
        return self._pipe


def _answer(pipe: Connection, workdir: Path, reviews: int) -> None:
    """Answer questions until the other side is gone."""
    begin_worker()
    book: RuleBook | None = None
    while True:
        try:
            question, given = pipe.recv()
        except EOFError:
            return
        try:
            book = book or RuleBook(workdir, reviews)
            answer: Callable[..., Json] = getattr(book, question)
            heard = (lambda *parts: pipe.send(("progress", *parts)),) if question == "compare" else ()
            pipe.send(("answer", answer(*given, *heard)))
        except BuilderError as error:
            pipe.send(("error", error.what, error.where, error.fix))


# ---- The site

_LINE = re.compile(r"(?:^the rule|/([\w-]+)\.toml):(\d+)$")
_PLACE = re.compile(r"^(.*/)?(rules/)")


def rule_site(worker: RuleWorker) -> LabelSite:
    """The page over the rules of a working directory."""

    def progress(user: str, query: Mapping[str, str]) -> Json:
        return dict(zip(("doing", "done", "of"), worker.progress, strict=True))

    def asking(question: str, *names: str) -> Callable[[str, Json], Json]:
        def ask(user: str, given: Json) -> Json:
            values = [given[name] for name in names]
            if not all(isinstance(value, str) for value in values):
                raise ValueError("a rule is a text")
            try:
                return worker.ask(question, *values)
            except BuilderError as error:
                return {"fault": _describe(error), "line": _find_line(error)}

        return ask

    writes = {f"/api/{question}": asking(question, *names) for question, names in QUESTIONS.items()}
    return LabelSite(
        "rules.html", ("text.js", "rules.js", "page.css", "rules.css"), {"/api/progress": progress}, writes,
        frozenset(writes),
    )  # fmt: skip


def _describe(error: BuilderError) -> str:
    """One line: where, what, how to fix. A folder that was made for the moment is not named."""
    line = _find_line(error)
    where = f"line {line}" if line else _PLACE.sub(r"\2", error.where)
    return ": ".join(part for part in (where, error.what) if part) + (f"; {error.fix}" if error.fix else "")


def _find_line(error: BuilderError) -> int | None:
    """The line of the edited text that an error is about."""
    place = _LINE.search(error.where)
    return int(place[2]) if place else None
