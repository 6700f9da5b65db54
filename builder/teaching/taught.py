"""What labels and corrections have taught a working directory: words, rules and exceptions that its next build uses.

In: labelled rows and a working directory. Out: `WORKDIR/rules/NAME.toml`, aspects in `WORKDIR/lexicon`,
`WORKDIR/taught.json`, which names them, and the labels themselves in `WORKDIR/taught.jsonl`. Teaching again starts from
the rules and words without what was taught, so that no label counts twice. Entries that a correction asks for are
tried out before they are added.
"""

from __future__ import annotations

import json
import shutil
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any, get_args

from builder.core.errors import ResourceError, WorkdirError
from builder.core.files import write_atomically
from builder.core.records import Triplet
from builder.engine.reader import Recipe, make_reader
from builder.engine.rule_changes import quote_triplet
from builder.language.build_folders import folders_in
from builder.language.lexicon.candidate_scores import Endings
from builder.language.lexicon.corrections import REASON, Lesson, Table, add_entry, find_lessons
from builder.language.lexicon.folders import Folders
from builder.language.lexicon.overlay import add_exception
from builder.language.lexicon.resources import Lexicon, overlays
from builder.language.lexicon.rules import RuleExample, edited_file, edited_rules
from builder.language.lexicon.tsv_rows import read_rows
from builder.pipeline.extraction import build_settings
from builder.pipeline.taught_reviews import taught_file
from builder.reviews.text import view
from builder.teaching.lessons import LABELS, Lessons, Rows, learn, read_taught, write_lessons

RECORD = "taught.json"
_WORDS = Path("lexicon", "aspects", f"imported_{LABELS}.tsv")


def teach(rows: Rows, where: Path, workdir: Path, weighed: bool = True) -> tuple[Lessons, list[Path]]:
    """Write what all labels teach into a working directory, in place of what labels taught before. The lessons, and
    the files of the rules. `weighed` is as in `learn`.
    """
    with untaught(workdir) as folders:
        reader, rules = make_reader(Recipe(folders=folders)), folders.load_rules()
        lessons = learn(read_taught(rows, where, reader), reader, folders, rules, weighed)
    forget(workdir)
    whole = [row for row in rows if "wrong" not in row]
    lines = "".join(json.dumps({name: row[name] for name in ("id", "text", "triplets")}) + "\n" for row in whole)
    write_atomically(taught_file(workdir), lines.encode())
    names = [rule.name for rule in lessons.changed(rules)]
    write_atomically(workdir / RECORD, (json.dumps({"rules": names, "labels": len(rows)}) + "\n").encode())
    return lessons, write_lessons(lessons, rules, workdir / "rules", workdir / "lexicon")


@dataclass(frozen=True, slots=True)
class TakenBack:
    """What labels had taught: rules, aspects, and how many labelled reviews there were."""

    rules: int
    aspects: int
    reviews: int


def forget(workdir: Path) -> TakenBack | None:
    """Take back what labels taught; None where they taught nothing."""
    names, words, labels = _taught_rules(workdir), workdir / _WORDS, taught_file(workdir)
    record = workdir / RECORD
    was_taught = record.is_file()
    aspects = len(list(read_rows(words, 2))) if words.is_file() else 0
    reviews = int(json.loads(record.read_text(encoding="utf-8"))["labels"]) if was_taught else 0
    for name in names:
        edited_file(workdir, name).unlink(missing_ok=True)
    words.unlink(missing_ok=True)
    record.unlink(missing_ok=True)
    labels.unlink(missing_ok=True)
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
        yield replace(folders, edited=edited, imported=imported)


def _copy_record(workdir: Path, copy: Path) -> Path:
    shutil.copyfile(workdir / RECORD, copy / RECORD)
    return copy


def _taught_rules(workdir: Path) -> list[str]:
    path = workdir / RECORD
    if not path.is_file():
        return []
    try:
        names = json.loads(path.read_text(encoding="utf-8"))["rules"]
        return [str(name) for name in names]
    except (ValueError, KeyError, TypeError, RecursionError) as error:
        raise WorkdirError(f"not readable: {error!r}", where=str(path), fix="delete it, and teach again") from error


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
        lessons = find_lessons(due, self.lexicon, Endings.of(self.lexicon))
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
        settings, folders = build_settings(self._workdir), folders_in(self._workdir)
        models = Path(settings.annotate.models) if settings.annotate.models else None
        with tempfile.TemporaryDirectory() as folder:
            for lesson in lessons:
                if lesson.table == "pair":
                    example = RuleExample(text, (), must=False)
                    add_exception(Path(folder), folders.load_rules(), lesson.word, example)
                else:
                    add_entry(Path(folder) / "lexicon", lesson, self.lexicon)
            words, rules = overlays(Path(folder)), edited_rules(Path(folder))
            tried = replace(folders, imported=folders.imported + words, edited=folders.edited + rules)
            recipe = Recipe(settings.rules.convention, tried, settings.annotate.backend, models, settings.device)
            return make_reader(recipe).extract([text])[0]
