"""`extract`: triplets of texts outside a build, one line out for each line in, in order.

In: JSON lines {"id", "text"}, read as a stream, or gold files that hold texts (`sources.texts`). Out: JSON lines {"id", "triplets"} written beside the target and renamed, so that there is
a whole file or none. The rules need no working directory; a variant's last model comes from one.
"""

from __future__ import annotations

import json
import os
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import chain, islice
from pathlib import Path
from typing import cast

from builder import nlp
from builder.config import Convention
from builder.engine import Doc, Engine
from builder.errors import ConfigError
from builder.export.records import extracted
from builder.lexicon.resources import Lexicon, load_lexicon, load_rules, overlays
from builder.records import Triplet
from builder.shards import Job, opened
from builder.sources.texts import texts
from builder.stages.context import bar, to_stored
from builder.store import db, runs
from builder.text import view

_CHUNK, _MODEL_CHUNK = 256, 8192
Line = tuple[object, str]
Answer = tuple[object, Sequence[Triplet]]
_Ready = tuple[Lexicon, nlp.Backend, Engine]
Predict = Callable[[Sequence[str]], list[tuple[Triplet, ...]]]
"""Views to triplets of views."""


@dataclass(frozen=True, slots=True)
class Counts:
    texts: int
    triplets: int
    seconds: float


def extract_file(source: Path, target: Path, system: str, workdir: Path | None, convention: str, workers: int) -> Counts:
    """Extract from a file. InputError names the line that holds no id or no text."""
    started = time.monotonic()
    lines = texts(source)
    habits = cast(Convention, convention)
    answers = _by_rules(lines, habits, workers, workdir) if system == "rules" else _by_model(lines, system, workdir, habits)
    building = target.with_name(f".{target.name}.building")
    read = triplets = 0
    try:
        with building.open("w", encoding="utf-8") as out, bar(None, "extract", unit=" texts") as shown:
            for i, found in answers:
                row = {"id": i, "triplets": [extracted(one, convention == "paper") for one in found]}
                out.write(json.dumps(row, ensure_ascii=False) + "\n")
                read, triplets = read + 1, triplets + len(found)
                shown.update()
        os.replace(building, target)
    finally:
        building.unlink(missing_ok=True)
    return Counts(read, triplets, time.monotonic() - started)


def _batches(lines: Iterator[Line], size: int) -> Iterator[list[Line]]:
    return iter(lambda: list(islice(lines, size)), [])


def _by_rules(lines: Iterator[Line], convention: Convention, workers: int, workdir: Path | None) -> Iterator[Answer]:
    """A short input is read here: it would be done before a second process has started."""
    head = list(islice(lines, 4 * _CHUNK + 1))
    tasks = _batches(chain(head, lines), _CHUNK)
    job = Job(_prepare, (convention, overlays(workdir) if workdir else ()), _extract)
    with opened("local", workers if len(head) > 4 * _CHUNK else 1) as crew:
        for found in crew.map(job, tasks):
            yield from found


def _prepare(convention: Convention, added: tuple[Path, ...]) -> _Ready:
    import torch

    torch.set_num_threads(1)
    lexicon = load_lexicon(overlays=added)
    return lexicon, nlp.load("embedded", lexicon.words()), Engine(lexicon, load_rules(), convention)


def _extract(ready: _Ready, lines: list[Line]) -> list[Answer]:
    lexicon, backend, engine = ready
    shown = [view(text, lexicon.variants) for _, text in lines]
    annotated = backend.annotate([one.text for one in shown])
    return [
        (i, [to_stored(triplet, one, text) for triplet in engine.extract(Doc.of(one.text, tokens))])
        for (i, text), one, tokens in zip(lines, shown, annotated, strict=True)
    ]


def _by_model(lines: Iterator[Line], system: str, workdir: Path | None, convention: Convention) -> Iterator[Answer]:
    """The last model of a variant, `C`, or the one of a round, `C2`. Of variant E the rules are a part."""
    if workdir is None:
        raise ConfigError(f"--source {system} needs --workdir", fix="name the working directory that trained it, or use --source rules")
    name, predict = last_model(workdir, system, convention)
    lexicon = load_lexicon(overlays=overlays(workdir))
    for batch in _batches(lines, _MODEL_CHUNK):
        shown = [view(text, lexicon.variants) for _, text in batch]
        for (i, text), one, found in zip(batch, shown, predict([one.text for one in shown]), strict=True):
            yield i, [replace(to_stored(triplet, one, text), source=name) for triplet in found]


def last_model(workdir: Path, system: str = "", convention: Convention = "natural") -> tuple[str, Predict]:
    """(name, what predicts views) of the model of a round, of a variant's last round, or of the last round of all."""
    with db.reading(workdir) as connection:
        rounds = [(done.variant, f"{done.variant}{done.round}") for done in runs.rounds(connection)]
    names = [name for _, name in rounds]
    chosen = [name for variant, name in rounds if system in ("", variant, name)]
    if not chosen:
        told = f"no model {system!r}" if system else "no model"
        raise ConfigError(f"{told} in {workdir}", fix="trained there: " + (", ".join(names) or "none"))
    return chosen[-1], _both(workdir, convention) if chosen[-1] == "E0" else _tagging(workdir, chosen[-1])


def _tagging(workdir: Path, name: str) -> Predict:
    from builder.model.kinds import load_extractor

    return load_extractor(workdir / "models" / name).predict


def _both(workdir: Path, convention: Convention) -> Predict:
    """What the rules and the panel of variant E hold together."""
    from builder.learning.task import Example
    from builder.model.cotrain import merged
    from builder.model.panel import load_panel

    panel = load_panel(workdir / "models" / "panel")
    _, backend, engine = _prepare(convention, overlays(workdir))

    def predict(texts: Sequence[str]) -> list[tuple[Triplet, ...]]:
        annotated = backend.annotate(list(texts))
        ruled = [engine.extract(Doc.of(text, tokens)) for text, tokens in zip(texts, annotated, strict=True)]
        judged = panel.classify([Example("", text, rules) for text, rules in zip(texts, ruled, strict=True)])
        scores = [[score for _, score in labels] for labels in judged]
        told = zip(ruled, scores, panel.taggers.proposals(texts), strict=True)
        return [merged(rules, listed, found, panel.drop) for rules, listed, found in told]

    return predict
