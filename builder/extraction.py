"""`extract`: triplets of texts outside a build, one line out for each line in, in order.

In: JSON lines {"id", "text"}. Out: JSON lines {"id", "triplets"} written beside the target and renamed, so that there is a whole file or
none. The rules need no working directory; a variant's last model comes from one.
"""

from __future__ import annotations

import json
import os
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from pathlib import Path
from typing import cast

from builder import nlp
from builder.config import Convention
from builder.engine import Doc, Engine
from builder.errors import ConfigError, InputError
from builder.export.records import extracted
from builder.records import Triplet
from builder.resources import load_lexicon, load_rules, overlays
from builder.stages.context import ModelBar, bar, sharded, to_stored
from builder.store import db, runs
from builder.text import view

_CHUNK = 256
_worker: dict[str, object] = {}
Line = tuple[object, str]


@dataclass(frozen=True, slots=True)
class Counts:
    texts: int
    triplets: int
    seconds: float


def extract_file(source: Path, target: Path, system: str, workdir: Path | None, convention: str, workers: int) -> Counts:
    """Extract from a file. InputError names the line that is not {"id", "text"}."""
    started = time.monotonic()
    lines = list(_lines(source))
    predicted = _by_rules(lines, cast(Convention, convention), workers, workdir) if system == "rules" else _by_model(lines, system, workdir)
    building = target.with_name(f".{target.name}.building")
    triplets = 0
    try:
        with building.open("w", encoding="utf-8") as out, bar(len(lines), "extract", unit=" texts") as shown:
            for (i, _), found in zip(lines, predicted, strict=True):
                out.write(
                    json.dumps({"id": i, "triplets": [extracted(one, convention == "paper") for one in found]}, ensure_ascii=False) + "\n"
                )
                triplets += len(found)
                shown.update()
        os.replace(building, target)
    finally:
        building.unlink(missing_ok=True)
    return Counts(len(lines), triplets, time.monotonic() - started)


def _lines(source: Path) -> Iterator[Line]:
    try:
        with source.open("rb") as handle:
            for number, raw in enumerate(handle, start=1):
                if raw.strip():
                    yield _line(raw, f"{source}:{number}")
    except OSError as error:
        raise InputError(f"cannot be read: {error.strerror}", where=str(source)) from error


def _line(raw: bytes, where: str) -> Line:
    fix = 'each line is {"id": …, "text": "…"} in UTF-8'
    try:
        row = json.loads(raw.decode("utf-8-sig"))
    except (ValueError, RecursionError) as error:
        raise InputError(f"not a JSON line: {error}", where=where, fix=fix) from error
    if not isinstance(row, Mapping) or "id" not in row or not isinstance(row.get("text"), str):
        raise InputError('"id" or a string "text" is missing', where=where, fix=fix)
    try:
        json.dumps([row["id"], row["text"]], ensure_ascii=False).encode()
    except UnicodeEncodeError as error:
        raise InputError("a lone surrogate (half an emoji) in id or text", where=where, fix="write the whole character") from error
    return row["id"], row["text"]


def _by_rules(lines: Sequence[Line], convention: Convention, workers: int, workdir: Path | None) -> Iterator[list[Triplet]]:
    queue = iter([text for _, text in lines])
    tasks = iter(lambda: list(islice(queue, _CHUNK)), [])
    for found in sharded(
        _extract, tasks, workers if len(lines) > 4 * _CHUNK else 1, _prepare, (convention, overlays(workdir) if workdir else ())
    ):
        yield from found


def _prepare(convention: Convention, added: tuple[Path, ...]) -> None:
    import torch

    torch.set_num_threads(1)
    lexicon = load_lexicon(overlays=added)
    _worker.update(lexicon=lexicon, backend=nlp.load("embedded", lexicon.words()), engine=Engine(lexicon, load_rules(), convention))


def _extract(texts: list[str]) -> list[list[Triplet]]:
    lexicon, backend, engine = _worker["lexicon"], _worker["backend"], _worker["engine"]
    shown = [view(text, lexicon.variants) for text in texts]  # type: ignore[attr-defined]
    annotated = backend.annotate([one.text for one in shown])  # type: ignore[attr-defined]
    return [
        [to_stored(triplet, one, text) for triplet in engine.extract(Doc.of(one.text, tokens))]  # type: ignore[attr-defined]
        for text, one, tokens in zip(texts, shown, annotated, strict=True)
    ]


def _by_model(lines: Sequence[Line], system: str, workdir: Path | None) -> Iterator[list[Triplet]]:
    """The last model of a variant, `C`, or the one of a round, `C2`."""
    from builder.model.kinds import load_extractor

    if workdir is None:
        raise ConfigError(f"--source {system} needs --workdir", fix="name the working directory that trained it, or use --source rules")
    with db.reading(workdir) as connection:
        rounds = [(done.variant, f"{done.variant}{done.round}") for done in runs.rounds(connection)]
    names = [name for _, name in rounds]
    chosen = [name for variant, name in rounds if system in (variant, name)]
    if not chosen:
        raise ConfigError(f"no model {system!r} in {workdir}", fix="trained there: " + (", ".join(names) or "none"))
    model = load_extractor(workdir / "models" / chosen[-1])
    lexicon = load_lexicon()
    shown = [view(text, lexicon.variants) for _, text in lines]
    progress = ModelBar(f"extract {chosen[-1]}")
    predictions = model.predict([one.text for one in shown], progress)
    progress.close()
    for (_, text), one, found in zip(lines, shown, predictions, strict=True):
        yield [replace(to_stored(triplet, one, text), source=chosen[-1]) for triplet in found]
