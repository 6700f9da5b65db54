"""A release: all its files, and how they come to stand in their place.

In: rows, and what is to be said of them. Out: a release directory. Data go to the disk a row at a time, the rest is
held in memory. metadata.json is Croissant 1.1 over the Parquet files, with the responsible-AI fields; making it is
pure.

A release is written as a whole or not at all: beside its place, verified, on the disk, then renamed.
"""

from __future__ import annotations

import fcntl
import importlib.resources
import json
import os
import shutil
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import NamedTuple

from builder.core.errors import ReleaseError
from builder.core.files import sync
from builder.core.licences import is_spdx_name
from builder.core.shards import Crew
from builder.release import augmentation_layers, origin, parquet_files
from builder.release.augmentation_layers import LayerRow
from builder.release.card import HUB_SPLITS, card
from builder.release.export import research
from builder.release.export.native_rows import ElementRow, ReviewRow, TripletRow, labelled, untokenisable
from builder.release.export.native_rows import triplet as released
from builder.release.manifest import (
    MASKED,
    UNMASKED,
    Content,
    Facts,
    Stored,
    checksums,
    digest_of,
    manifest,
    sha256,
    size_of,
    stored,
)
from builder.release.origin import citation, cite_as
from builder.release.parquet_files import COLUMNS, LINEAGE, REVIEW, TRIPLET
from builder.release.sections import quality_sentence
from builder.release.shelf import kept_columns
from builder.release.verify import verify

# ---- Croissant and the files

Node = dict[str, object]
_KINDS = {"string": "sc:Text", "number": "sc:Float", "boolean": "sc:Boolean"}
_TRIPLET = {
    "id": ("sc:Text", "id"), "aspect": ("sc:Text", "aspect.text"), "aspect_spans": ("sc:Integer", "aspect.spans"),
    "aspect_category": ("sc:Text", "aspect_category"), "opinion": ("sc:Text", "opinion.text"),
    "opinion_spans": ("sc:Integer", "opinion.spans"), "opinion_full": ("sc:Text", "opinion_full.text"),
    "opinion_category": ("sc:Text", "opinion_category"), "polarity": ("sc:Text", "polarity"),
    "valence": ("sc:Float", "valence"), "confidence": ("sc:Float", "confidence"), "verdict": ("sc:Text", "verdict"),
    "sources": ("sc:Text", "sources"), "rules": ("sc:Text", "rules"),
}  # fmt: skip
"""Field -> type and where in a triplet it stands."""


def croissant(facts: Facts, content: Mapping[str, Content]) -> str:
    """`content` holds the Parquet files; each becomes a FileObject, each layer of a split a record set."""
    context = (importlib.resources.files("builder.release") / "croissant.json").read_text(encoding="utf-8")
    body: Node = {
        "@context": json.loads(context),
        "@type": "sc:Dataset",
        "conformsTo": "http://mlcommons.org/croissant/1.1",
        "name": facts.name,
        "description": "Aspect sentiment triplets (aspect, opinion, polarity) with their places in Chinese"
        f" {origin.reviews_of(facts)}, found by {origin.makers(facts)}.",
        "version": facts.version,
        "license": _licence(facts),
        "url": facts.url or f"urn:dataset:{facts.name}",
        **({"creator": {"@type": "sc:Organization", "name": facts.creator}} if facts.creator else {}),
        "datePublished": facts.date,
        "inLanguage": "zh",
        "keywords": ["aspect sentiment triplet extraction", "weak supervision", "Chinese", origin.reviews_of(facts)],
        "citeAs": cite_as(facts),
        "isLiveDataset": False,
    }
    if facts.parent:
        body["prov:wasDerivedFrom"] = {"@id": f"urn:dataset:{facts.parent_name or facts.name}:{facts.parent}"}
    body |= _responsible(facts)
    body["distribution"] = [_file(path, data) for path, data in content.items()]
    body["recordSet"] = [
        _splits(),
        *(
            _records(
                path,
                kept_columns(facts.config),
                augmented=any(path.endswith(f"-{augmentation}.parquet") for augmentation in facts.augmentations),
            )
            for path in content
        ),
    ]
    return json.dumps(body, ensure_ascii=False, indent=2) + "\n"


def _licence(facts: Facts) -> str | list[str]:
    """The licence's page at SPDX, and those of the sources behind it."""
    names = list(dict.fromkeys([facts.licence or "not stated", *facts.licences.values()]))
    pages = [f"https://spdx.org/licenses/{name}" if is_spdx_name(name) else name for name in names]
    return pages if len(pages) > 1 else pages[0]


def _responsible(facts: Facts) -> Node:
    """The rai: fields: how the data came about and what to beware of."""
    masked = ", ".join(MASKED.values())
    return {
        "rai:dataCollection": "Reviews given by the user of builder; distinct texts with at least one Han character.",
        "rai:dataAnnotationProtocol": origin.sentences(facts),
        "rai:dataAnnotationAnalysis": quality_sentence(facts),
        "rai:machineAnnotationTools": [
            f"builder {facts.builder}",
            *(f"{name} {signature}" for name, signature in facts.signatures.items()),
            *(["a language model (the gold reviews)"] * (facts.gold_annotators == "language model")),
        ],
        "rai:dataBiases": "Polarity follows lexicons; "
        "named aspects and frequent constructions are found more often than others.",
        "rai:dataLimitations": "Implicit aspects, whole-sentence opinions and irony are mostly missed; "
        "triplets of silver reviews were not checked one by one.",
        "rai:personalSensitiveInformation": f"Masked: {masked}. Not found, and may remain: {UNMASKED}.",
        "rai:dataUseCases": "Training and studying aspect sentiment triplet extraction in Chinese.",
    }


def _described(key: str) -> str:
    element = key.removesuffix("_spans")
    return TRIPLET[key][1] if key in TRIPLET else f"[start, end) of each part of `{element}`"


def _file(path: str, data: Content) -> Node:
    return {
        "@type": "cr:FileObject",
        "@id": path,
        "name": path,
        "contentUrl": path,
        "encodingFormat": "application/x-parquet",
        "contentSize": f"{size_of(data)} B",
        "sha256": digest_of(data),
    }


def _splits() -> Node:
    """The names of the splits, with what Croissant calls each."""
    kinds = {"train": "cr:TrainingSplit", "valid": "cr:ValidationSplit", "test": "cr:TestSplit"}
    fields = [
        {"@type": "cr:Field", "@id": f"splits/{name}", "name": name, "dataType": kind}
        for name, kind in (("name", "sc:Text"), ("url", "sc:URL"))
    ]
    return {
        "@type": "cr:RecordSet",
        "@id": "splits",
        "name": "splits",
        "dataType": "cr:Split",
        "key": {"@id": "splits/name"},
        "field": fields,
        "data": [{"splits/name": HUB_SPLITS[split], "splits/url": kind} for split, kind in kinds.items()],
    }


def _records(path: str, kept: Sequence[str], augmented: bool) -> Node:
    """The reviews of one file, its triplets nested; of an augmentation layer with the row that each comes from."""
    split, _, layer = path.removeprefix("parquet/").removesuffix(".parquet").partition("-")
    name = f"{split}-{layer}"

    def source(column: str, json_path: str = "") -> Node:
        chosen: Node = {"fileObject": {"@id": path}, "extract": {"column": column}}
        return chosen | ({"transform": {"jsonPath": json_path}} if json_path else {})

    fields: list[Node] = [
        {"@type": "cr:Field", "@id": f"{name}/{column}", "name": column, "description": about,
         "dataType": _KINDS[kind.removesuffix(" or null")], "source": source(column)}
        for column, (kind, about) in {**REVIEW, **(LINEAGE if augmented else {})}.items()
        if kind != "list"
    ]  # fmt: skip
    parts = [
        {"@type": "cr:Field", "@id": f"{name}/triplets/{key}", "name": key, "description": _described(key),
         "dataType": kind, "source": source("triplets", where)}
        for key, (kind, where) in _TRIPLET.items()
    ]  # fmt: skip
    fields.append(
        {
            "@type": "cr:Field",
            "@id": f"{name}/triplets",
            "name": "triplets",
            "description": "what the review says",
            "repeated": True,
            "subField": parts,
        }
    )
    if kept and not augmented:
        own = [
            {"@type": "cr:Field", "@id": f"{name}/columns/{key}", "name": key, "dataType": "sc:Text",
             "description": "as the input had it, masked", "source": source("columns", f"'{key}'")}
            for key in kept
        ]  # fmt: skip
        about = {"name": "columns", "description": COLUMNS["columns"][1]}
        fields.append({"@type": "cr:Field", "@id": f"{name}/columns", **about, "subField": own})
    return {
        "@type": "cr:RecordSet",
        "@id": name,
        "name": name,
        "description": f"{HUB_SPLITS[split]} split, {layer} layer",
        "key": {"@id": f"{name}/id"},
        "field": fields,
    }


Files = dict[str, Content]


class WrittenRow(NamedTuple):
    """A review with what files of text say of it.

    `line` is its row as JSON. `answer` is what the paper's format says behind the number; it is empty where that
    cannot hold the review whole, and `refused` says why.
    """

    row: ReviewRow
    line: bytes
    answer: bytes
    refused: bytes


def write_row(row: ReviewRow) -> WrittenRow:
    """A review as the files of a split hold it."""
    return WrittenRow(row, _line(row), *_paper(row))


def data(folder: Path, rows: Mapping[str, Iterable[WrittenRow]]) -> Files:
    """Write data/, parquet/ and paper/ of each split into `folder`: what is the same whatever the release is called."""
    return {path: stored(folder / path) for split, members in rows.items() for path in _split(folder, split, members)}


def digest(files: Mapping[str, Content]) -> str:
    """What identifies the data: the checksum lines of data/."""
    return sha256(checksums({path: content for path, content in files.items() if path.startswith("data/")}).encode())


def whole(facts: Facts, content: Mapping[str, Content], changes: str) -> Files:
    """`content` (of `data`) and what is said about it; `changes` is CHANGES.md."""
    tables = parquet_files.filled({path: data for path, data in content.items() if path.startswith("parquet/")})
    files = dict(content) | {
        "README.md": card(facts, tables).encode(),
        "CHANGES.md": changes.encode(),
        "CITATION.cff": citation(facts).encode(),
        "metadata.json": croissant(facts, tables).encode(),
    }
    files["manifest.json"] = manifest(facts, files).encode()
    files["SHA256SUMS"] = checksums(files).encode()
    return files


def _split(folder: Path, split: str, rows: Iterable[WrittenRow]) -> list[str]:
    """The files of a split, by name. Each layer that has rows has a Parquet file: `datasets` loads no empty one."""
    data, answers, aside = f"data/{split}.jsonl", f"paper/{split}.json", f"paper/{split}.skipped.jsonl"
    for path in (data, answers, parquet_files.path(split, "")):
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
    tables: dict[str, parquet_files.TableWriter] = {}
    with ExitStack() as stack:
        ours, theirs, skipped = (stack.enter_context((folder / path).open("wb")) for path in (data, answers, aside))
        for number, written in enumerate(rows, start=1):
            ours.write(written.line)
            if (layer := written.row["annotation"]) not in tables:
                shape = parquet_files.schema(kept=tuple(written.row.get("columns", ())))
                columns = folder / parquet_files.path(split, layer)
                tables[layer] = stack.enter_context(parquet_files.TableWriter(columns, shape))
            tables[layer].take(written.line)
            theirs.write(_numbered(number, written.answer))
            skipped.write(written.refused)
    if not (folder / aside).stat().st_size:
        (folder / aside).unlink()
    twins = [parquet_files.path(split, layer) for layer in parquet_files.LAYERS if layer in tables]
    made = [data, *twins, answers, aside]
    return [path for path in made if (folder / path).exists()]


def _line(row: Mapping[str, object]) -> bytes:
    return (json.dumps(row, ensure_ascii=False) + "\n").encode()


def _paper(row: ReviewRow) -> tuple[bytes, bytes]:
    """A review in the paper's format less its number; or nothing, and why that cannot hold it whole, which stands
    beside it.
    """
    triplets = [released(triplet) for triplet in row["triplets"]]
    if reason := next(filter(None, map(research.paper_refused, triplets)), None):
        return b"", _line({"id": row["id"], "labels": len(triplets), "reason": reason})
    return _line(research.paper_row(row["text"], triplets, review=row["id"])), b""


def _numbered(number: int, answer: bytes) -> bytes:
    return b'{"id": %d, %b' % (number, answer[1:]) if answer else b""


def layer(split: str, name: str, rows: Sequence[LayerRow]) -> Files:
    """A layer as JSON lines, Parquet, the paper's format and BIO over characters."""
    whole = f"{split}-{name}"
    parts = [_paper(row) for row in rows]
    answers = [_numbered(number, answer) for number, (answer, _) in enumerate(parts, start=1)]
    fit = [labelled(_spanned(row)) for row in rows if not untokenisable(row["text"])]
    out: Files = {
        augmentation_layers.path(split, name): b"".join(map(_line, rows)),
        parquet_files.path(split, name): parquet_files.dump(rows, augmentation_layers.schema()),
        f"paper/{whole}.json": b"".join(answers),
        f"bio/{whole}.bio": research.dump_bio(fit).encode(),
    }
    skipped = b"".join(refused for _, refused in parts)
    return out | ({f"paper/{whole}.skipped.jsonl": skipped} if skipped else {})


def _spanned(row: LayerRow) -> ReviewRow:
    """A row whose aspects BIO can see: those of views without triplets stand in for their triplets."""
    if row["triplets"] or not row["aspects"]:
        return row
    blank: ElementRow = {"text": "", "spans": []}
    stand_in: list[TripletRow] = [
        {"id": "", "aspect": {"text": aspect["text"], "spans": aspect["spans"]}, "aspect_full": blank, "owner": None,
         "opinion": blank, "opinion_full": blank, "polarity": "NEU", "valence": 5.0, "sources": [], "rules": [],
         "aspect_category": None, "opinion_category": None, "confidence": None, "verdict": None}
        for aspect in row["aspects"]
    ]  # fmt: skip
    return row | {"triplets": stand_in}


# ---- Writing


@contextmanager
def building(out: Path) -> Iterator[Path]:
    """A folder beside the releases in which one is made, by one process at a time;
    what is left of it in the end goes.
    """
    out.mkdir(parents=True, exist_ok=True)
    held = os.open(out, os.O_RDONLY)
    try:
        with suppress(OSError):  # some network file systems lock nothing
            _locked(held, out)
        folder = out / ".release.building"
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir()
        try:
            yield folder
        except OSError as error:
            error.filename = error.filename or str(out)  # the error of a full disk names no file
            raise
        finally:
            shutil.rmtree(folder, ignore_errors=True)
    finally:
        os.close(held)


def write(
    folder: Path,
    target: Path,
    files: Mapping[str, Content],
    crew: Crew | None = None,
    apart: Mapping[str, str] | None = None,
) -> None:
    """A release from the folder it is made in; ReleaseError with the first fault if it does not verify, which `crew`
    finds out. `apart` is as in `verify`.
    """
    for path, content in files.items():
        place = folder / path
        place.parent.mkdir(parents=True, exist_ok=True)
        if not isinstance(content, Stored):
            place.write_bytes(content)
        elif content.path != place:
            shutil.copyfile(content.path, place)
        sync(place)
    faults = verify(folder, crew, apart)
    if faults:
        raise ReleaseError(
            f"the release does not verify: {faults[0]}" + (f" and {len(faults) - 1} more" if len(faults) > 1 else ""),
            where=str(folder),
        )
    for inner in {folder, *(path.parent for path in folder.rglob("*"))}:
        sync(inner)
    os.rename(folder, target)
    sync(target.parent)


def holds(target: Path, files: Files, fix: str) -> bool:
    """Whether an existing release is the one of these files.

    ReleaseError for a damaged one; `fix` says what to do after removing it.
    """
    sums = target / "SHA256SUMS"
    if not sums.is_file() or sums.read_bytes() != files["SHA256SUMS"]:
        return False
    check_sound(target, fix)
    return True


def check_sound(target: Path, fix: str) -> None:
    """ReleaseError for a damaged release; `fix` says what to do after removing it."""
    if faults := verify(target):
        raise ReleaseError(f"this release is damaged: {faults[0]}", where=str(target), fix=f"remove it, then {fix}")


def _locked(held: int, out: Path) -> None:
    """ReleaseError where another process makes a release in the same place: both would take the same number."""
    try:
        fcntl.flock(held, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError as error:
        raise ReleaseError(
            "another process makes a release here", where=str(out), fix="wait for it, or use another --out"
        ) from error
