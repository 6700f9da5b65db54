"""Settings as a file that travels to workers, and back: what a method may learn from is too much to go along with
every task.

JSON, since nothing of ours is a pickle. The folder of trained models travels beside it and is given anew where it
arrives.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

from builder.augment.records import Mark, Sentence
from builder.augment.settings import AugmentSettings, Given
from builder.core.config import filled, flat
from builder.core.records import Element, Triplet
from builder.language.lexicon.folders import Folders


def dumped(settings: AugmentSettings) -> bytes:
    """All of `settings` but where models are kept."""
    given = asdict(replace(settings.given, models=None)) | {"held": sorted(settings.given.held)}
    own = {key: value for key, value in flat(replace(settings, given=Given())).items() if not key.startswith("given.")}
    content = json.dumps({"own": own, "given": given}, ensure_ascii=False, default=str)  # str: paths of folders
    return content.encode("utf-8", "surrogatepass")


def loaded(content: bytes, models: Path | None) -> AugmentSettings:
    """What was `dumped`, with models kept in `models`."""
    document = json.loads(content.decode("utf-8", "surrogatepass"))
    given = document["given"]
    moved = Given(
        models=models,
        sentences=tuple(map(_sentence, given["sentences"])),
        texts=tuple(given["texts"]),
        held=frozenset(given["held"]),
        triplets={key: tuple(map(_triplet, sentence)) for key, sentence in given["triplets"].items()},
        language=given["language"],
        folders=_folders(given["folders"]),
    )
    return replace(filled(AugmentSettings, document["own"]), given=moved)


def _folders(row: Mapping[str, Any]) -> Folders:
    """Folders are read where they lie: workers see the same files."""
    whole = {name: Path(row[name]) if row[name] else None for name in ("lexicons", "rules")}
    laid_over = {name: tuple(map(Path, row[name])) for name in ("overlays", "added_rules", "imported", "edited")}
    return Folders(**whole, **laid_over, domain=row["domain"])  # type: ignore[arg-type]  # each name has its type in one of the two


def _sentence(row: Mapping[str, Any]) -> Sentence:
    words, marks = tuple((start, end) for start, end in row["words"]), tuple(Mark(**mark) for mark in row["marks"])
    return Sentence(**{**row, "words": words, "marks": marks})


def _triplet(row: Mapping[str, Any]) -> Triplet:
    parts = {name: _element(row[name]) for name in ("aspect", "aspect_full", "opinion", "opinion_full")}
    assert row["reasons"] is None, row  # what methods learn from comes without
    owner = _element(row["owner"]) if row["owner"] else None
    return Triplet(**{**row, **parts, "owner": owner, "rules": tuple(row["rules"])})


def _element(row: Mapping[str, Any]) -> Element:
    return Element(row["text"], tuple((start, end) for start, end in row["spans"]))
