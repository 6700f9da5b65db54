"""What labels have taught a working directory: files of rules and words that its next build uses.

In: labelled rows and a working directory. Out: `WORKDIR/rules/NAME.toml`, aspects in `WORKDIR/lexicon`,
`WORKDIR/taught.json`, which names them, and the labels themselves in `WORKDIR/taught.jsonl`. Teaching again starts from
the rules and words without what was taught, so that no label counts twice.
"""

from __future__ import annotations

import json
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

from builder.core.errors import WorkdirError
from builder.core.files import write_atomically
from builder.engine.reader import Recipe, make_reader
from builder.language.build_folders import folders_in
from builder.language.lexicon.folders import Folders
from builder.language.lexicon.rule_texts import edited_file
from builder.language.lexicon.tsv_rows import read_rows
from builder.pipeline.taught_reviews import taught_file
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
