"""How a file of reviews is given to builder: to its reader, to `builder build --until ingest`, or as texts of `extract`.

In: the folder of an input with one file and `.case.json`. Out: `read`, `rejected rows` or `refused`, or an AssertionError.
"""

from __future__ import annotations

import json
import random
import tempfile
from pathlib import Path

from measure.fuzzing.case import Ran, check_message, check_ran, run_command

_CASE = ".case.json"


def load_readers() -> None:
    """Import what readers and `build` need, and read once what a build keeps in memory: code, lexicon, characters."""
    import openpyxl  # noqa: F401
    import pyarrow.parquet  # noqa: F401

    import builder.cli.main
    import builder.language.nlp.parser
    import builder.pipeline.pipeline  # noqa: F401

    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "sound.csv").write_text("text\n湯頭很濃\n", encoding="utf-8")
        check_ran(_build(folder, folder / "sound.csv"), codes=(0,))


def prepare_nothing(base: Path) -> None:
    """Files of reviews begin with nothing."""


def write_case(folder: Path, name: str, content: bytes, rng: random.Random, rows: int | None = None) -> None:
    """An input: a file, how many rows it has (None: nobody knows), and which door it goes through."""
    door = rng.choice(("read",) * 14 + ("texts",) * 4 + ("build",) * 2)
    (folder / name).write_bytes(content or b"\n")
    (folder / _CASE).write_text(json.dumps({"name": name, "rows": rows, "door": door}))


def use_file(base: Path, folder: Path) -> str:
    """Give the file to the door that its case names."""
    case = json.loads((folder / _CASE).read_text())
    path = folder / case["name"]
    match case["door"]:
        case "build":
            return f"build: {check_ran(_build(folder, path))}"
        case "texts":
            return f"texts: {read_texts(path)}"
    return read_rows(path, case["rows"])


def _build(folder: Path, path: Path) -> Ran:
    """Take a file into a new working directory."""
    words = ("--until", "ingest", "--workdir", folder / "w", "--set", "workers=1")
    return run_command(folder, "build", path, *words)


def read_rows(path: Path, rows: int | None) -> str:
    """`read`, `rejected rows` or `refused`; AssertionError for a row that is lost or a message of several lines."""
    from builder.core.errors import InputError
    from builder.reviews.sources import read
    from builder.reviews.sources.cells import RawReview

    count = rejected = 0
    try:
        for row in read(path):
            count += 1
            assert row.row == count, f"row {row.row} comes as number {count}"
            if isinstance(row, RawReview):
                for cell in (row.text, row.id or "", row.place or "", row.source or ""):
                    cell.encode()
                    assert "\0" not in cell, f"row {row.row} holds NUL"
            else:
                rejected += 1
                assert row.reason and row.detail, f"row {row.row} is rejected without a reason"
                row.raw.encode()
    except InputError as error:
        check_message(error)
        assert rows is None, f"a sound file is refused: {error}"
        return "refused"
    assert rows is None or count == rows, f"{count} rows of {rows}"
    return "rejected rows" if rejected else "read"


def read_texts(path: Path) -> str:
    """The same for what `builder extract` reads."""
    from builder.core.errors import InputError
    from builder.reviews.sources.texts import texts

    try:
        for _, text in texts(path):
            text.encode()
    except InputError as error:
        check_message(error)
        return "refused"
    return "read"
