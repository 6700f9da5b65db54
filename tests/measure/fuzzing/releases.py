"""Releases that somebody forged: a sound one with changes of its structure, mostly with the checksums of the forgery.

In: the releases of the checkout, of every layout, and one that is built from the sample once. Out: a folder with a changed release.
`builder verify` names faults or finds none, and never ends in a traceback; `diff` and `export` may refuse it.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import random
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

from measure.fuzzing.case import Family, check_ran, run_command
from measure.fuzzing.changes import WORDS, change_bytes, change_json, write_json
from measure.fuzzing.columnar import SCALARS

_ROOT = Path(__file__).parents[3]
_SMALL = "small"


def prepare(base: Path) -> None:
    """A small release of the sample's first reviews, built anew; and those of the checkout."""
    from conftest import small_input

    reviews, _ = small_input(base)
    words = [sys.executable, "-m", "builder", "build", reviews, "--workdir", base / "w", "--out", base / "out", "--quiet", "--set", "workers=1", "--set", "ingest.valid_share=0.2"]  # fmt: skip
    environment = os.environ | {"PYTHONPATH": str(_ROOT), "TQDM_DISABLE": "1"}
    subprocess.run([str(word) for word in words], env=environment, check=True, capture_output=True)
    (base / "out" / "v0.1.0").rename(base / _SMALL)
    shutil.rmtree(base / "w")
    for release in (*(_ROOT / "tests" / "layouts").iterdir(), *(_ROOT / "releases").glob("sample-[0-9]*")):
        shutil.copytree(release, base / release.name.replace("sample-", "v"))


def load() -> None:
    """Import what `verify`, `diff` and `export` need."""
    import pyarrow.parquet  # noqa: F401

    import builder.cli.main
    import builder.release.diff
    import builder.release.verify  # noqa: F401


def make(base: Path, folder: Path, rng: random.Random) -> None:
    """A release with one to some changes; seven in eight are sealed again."""
    others = sorted(path.name for path in base.iterdir() if path.name.startswith("v"))
    name = _SMALL if rng.random() < 0.85 else rng.choice(others)
    release = Path(shutil.copytree(base / name, folder / "release"))
    for _ in range(rng.choice((1, 1, 1, 2, 5))):
        with contextlib.suppress(OSError, ValueError, KeyError, IndexError, RecursionError):  # broken before
            rng.choice(CHANGES)(release, rng)
        if any(path.is_fifo() for path in release.rglob("*")):
            break  # what changes it next would wait for somebody to write
    if rng.random() < 7 / 8:
        with contextlib.suppress(ValueError, KeyError, TypeError, AttributeError, OSError, RecursionError):
            seal(release)
    if rng.random() < 0.15:
        _change_sums(release, rng)
    command = rng.choice(("verify",) * 12 + ("diff", "export", "export"))
    form = rng.choice(("aste-v2", "gts", "bio", "semeval", "table", "paper", "argilla", "label-studio"))
    (folder / ".case.json").write_text(json.dumps({"command": command, "base": name, "format": form}))


def use(base: Path, folder: Path) -> str:
    """`builder verify`, mostly."""
    case = json.loads((folder / ".case.json").read_text())
    release = folder / "release"
    match case["command"]:
        case "diff":
            ran = run_command(folder, "diff", base / case["base"], release)
        case "export":
            words = ("--format", case["format"], "--output", folder / "export")
            ran = run_command(folder, "export", release, *words)
        case _:
            ran = run_command(folder, "verify", release)
    ended = check_ran(ran, (0, 1, 2))
    assert ran.code == 0 or (ran.out + ran.err).strip(), f"exit {ran.code} without a word"
    return f"{case['command']}: {ended}"


def seal(release: Path) -> None:
    """Give every file the checksum that it now has, as whoever forges a release can."""
    manifest = release / "manifest.json"
    if manifest.is_fifo() or (release / "SHA256SUMS").is_fifo():
        return
    content = json.loads(manifest.read_text(encoding="utf-8"))
    files = {
        path.relative_to(release).as_posix(): {"bytes": path.stat().st_size, "sha256": _digest(path)}
        for path in sorted(release.rglob("*"))
        if path.is_file() and path.name not in ("manifest.json", "SHA256SUMS")
    }
    if isinstance(content, dict) and isinstance(content.get("files"), dict):
        content["files"] = files
        text = json.dumps(content, ensure_ascii=False, indent=2) + "\n"
        manifest.write_bytes(text.encode("utf-8", "surrogatepass"))
    seal_sums(release)


def seal_sums(release: Path) -> None:
    """SHA256SUMS of what is there."""
    from builder.release.manifest import sums

    digests = {
        path.relative_to(release).as_posix(): _digest(path)
        for path in release.rglob("*")
        if path.is_file() and path.name != "SHA256SUMS"
    }
    (release / "SHA256SUMS").write_bytes(sums(digests).encode("utf-8", "surrogateescape"))


def _digest(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


# ---- changes


def _change_document(release: Path, rng: random.Random) -> None:
    """A part of manifest or metadata."""
    path = release / rng.choice(("manifest.json",) * 4 + ("metadata.json",))
    value = json.loads(path.read_text(encoding="utf-8"))
    if isinstance(value, dict) and rng.random() < 0.5:  # the parts that are used, not the long tables beside them
        keys = [key for key in ("format", "splits", "statistics", "privacy", "augmentations", "version", "files", "quality", "dropped", "date") if key in value]  # fmt: skip
        key = rng.choice(keys or list(value))
        changed = change_json({"part": value[key]}, rng)
        value[key] = changed.get("part", None) if isinstance(changed, dict) else changed
    else:
        value = change_json(value, rng, rng.choice((1, 1, 3)))
    path.write_bytes(write_json(value, rng, 2))


def _replace_document(release: Path, rng: random.Random) -> None:
    odd = (b"", b"[", b"null", b"5", b'"a"', b"[" * 100_000, b'{"a":' * 50_000, b"\xff\xfe", b"{}", b"[]", b"\x00")
    (release / rng.choice(("manifest.json", "metadata.json"))).write_bytes(rng.choice(odd))


def _change_rows(release: Path, rng: random.Random) -> None:
    """A row of a split: a part of it, a line of it, its place."""
    path = rng.choice(sorted(release.glob("data/*.jsonl")) + sorted(release.glob("paper/*.json")))
    lines = path.read_bytes().split(b"\n")
    number = rng.randrange(len(lines))
    match rng.randrange(10):
        case 0:
            del lines[number]
        case 1:
            lines.insert(rng.randrange(len(lines)), lines[number])
        case 2:
            lines[number] = change_bytes(lines[number] or b"{}", rng)
        case 3:
            odd = (b"[" * 100_000, b"null", b"[]", b"{}", b"5", b'"a"', b'{"text": "' + b"a" * 200_000 + b'"}', b"\xff")
            lines[number] = rng.choice(odd)
        case 4:
            rng.shuffle(lines)
        case _:
            with contextlib.suppress(ValueError):
                row = json.loads(lines[number])
                lines[number] = write_json(change_json(row, rng, rng.choice((1, 1, 2))), rng)
    path.write_bytes(b"\n".join(lines))


def _change_columns(release: Path, rng: random.Random) -> None:
    """A Parquet file: columns away, renamed, of another type, rows twice, other bytes."""
    import pyarrow
    from pyarrow import parquet

    files = sorted(release.glob("parquet/*.parquet"))
    if not files:
        return
    path = rng.choice(files)
    if rng.random() < 0.25:
        path.write_bytes(rng.choice((change_bytes(path.read_bytes(), rng), b"", b"PAR1", b"PAR1PAR1")))
        return
    table = parquet.read_table(path)
    place = rng.randrange(table.num_columns)
    with contextlib.suppress(pyarrow.ArrowException, OSError, ValueError, TypeError):
        match rng.randrange(7):
            case 0:
                table = table.remove_column(place)
            case 1:
                names = list(table.column_names)
                names[place] = rng.choice((*WORDS[:6], "id", "text"))
                table = table.rename_columns(names)
            case 2:
                kind, values = rng.choice(SCALARS)
                cells = [rng.choice(values) for _ in range(table.num_rows)]
                table = table.set_column(place, table.column_names[place], pyarrow.array(cells, kind(pyarrow)))
            case 3:
                table = pyarrow.concat_tables([table] * rng.choice((0, 2, 50)) or [table.slice(0, 0)])
            case 4:
                column = pyarrow.nulls(table.num_rows, table.schema.field(place).type)
                table = table.set_column(place, table.column_names[place], column)
            case 5:
                rows: list[dict[str, Any]] = table.to_pylist()
                rows[0 if not rows else rng.randrange(len(rows))]["text"] = rng.choice(WORDS)
                table = pyarrow.Table.from_pylist(rows, schema=table.schema)
            case _:
                table = table.slice(rng.randrange(max(table.num_rows, 1)))
        rows_each = rng.choice((1, 7, 100_000))
        parquet.write_table(table, path, row_group_size=rows_each, compression=rng.choice(("zstd", "none")))


def _change_files(release: Path, rng: random.Random) -> None:
    """A file more, less, elsewhere, or no file."""
    files = sorted(path for path in release.rglob("*") if path.is_file())
    path = rng.choice(files)
    match rng.randrange(9):
        case 0:
            path.unlink()
        case 1:
            names = ("a", "data/x.jsonl", "parquet/a-silver.parquet", "é", "a\nb", "\x1b[31m", "a  b", "x" * 200, "data/train.jsonl.gz", " ", "-rf")  # fmt: skip
            new = release / rng.choice(names)
            new.parent.mkdir(exist_ok=True)
            new.write_bytes(rng.choice((b"", b"x", path.read_bytes())))
        case 2:
            (release / os.fsdecode(b"\xff\xfe")).write_bytes(b"x")
        case 3:
            content = path.read_bytes()
            path.unlink()
            (release.parent / "outside").write_bytes(content)
            path.symlink_to(rng.choice((release.parent / "outside", Path("/etc/passwd"), Path("nowhere"), Path(path.name))))  # fmt: skip
        case 4:
            path.unlink()
            path.mkdir()
        case 5:
            (release / rng.choice(("empty", "data/deep/er", "parquet/x"))).mkdir(parents=True, exist_ok=True)
        case 6:
            path.write_bytes(change_bytes(path.read_bytes() or b"a", rng))
        case 7:
            path.rename(path.with_name(rng.choice(("a", path.name.upper(), path.name + " ", "train.jsonl"))))
        case _:
            path.unlink()
            os.mkfifo(path)


def _change_sums(release: Path, rng: random.Random) -> None:
    path = release / "SHA256SUMS"
    content = path.read_bytes() if path.is_file() else b""
    digest = b"0" * 64
    odd = (b"", b"\n" * 1_000, digest + b"  ../../etc/passwd\n", digest + b"  /etc/passwd\n", digest + b"  \xff\n", digest + b"  a\x00b\n", digest + b"  data\n", content * 2, content.replace(b"\n", b"\r\n"), content.rstrip(b"\n"))  # fmt: skip
    changed = change_bytes(content, rng) if rng.random() < 0.5 else content + rng.choice(odd)
    if not path.is_dir():
        path.unlink(missing_ok=True)
        path.write_bytes(changed)


CHANGES = (_change_document,) * 5 + (_replace_document,) + (_change_rows,) * 5 + (_change_columns,) * 3 + (_change_files,) * 2  # fmt: skip
FAMILY = Family("releases", "sound releases with changes of their structure, sealed again: verify, diff, export", 1_200, prepare, load, make, use)  # fmt: skip
