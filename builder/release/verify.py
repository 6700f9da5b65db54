"""Verification of a release: checksums, files, counts, schema and the gates of `builder.release.gates`.

In: a release directory. Out: its faults, each with file and line. The checksum file itself is compared byte for byte
with what its entries render to, so that a changed line end is noticed too.

Whether the counts of a split are those that the manifest states. In: both. Out: faults, a line each. Pure.

The rows of a release checked part by part: what `verify` has workers do.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import closing, contextmanager
from functools import lru_cache, partial
from itertools import islice
from pathlib import Path
from typing import Any, NamedTuple

from builder.core.errors import BuilderError, ReleaseError
from builder.core.files import digest_file
from builder.core.machine import uncollected
from builder.core.records import POLARITIES
from builder.core.shards import Crew, Job
from builder.core.shards.local import LocalCrew
from builder.core.wording import counted
from builder.release import augmentation_layers, parquet_files
from builder.release.augmentation_layers import LayerRow
from builder.release.export.native_rows import ReviewRow
from builder.release.gates import RowLook, WholeRelease, row_faults, schema_fault
from builder.release.manifest import sums
from builder.release.shelf import (
    FORMAT,
    NAME,
    croissant_fault,
    kept_columns,
    manifest_fault,
    parse,
    read_json,
    rows,
)  # fmt: skip


def count_faults(
    split: str, facts: Mapping[str, Any], held: Counter[str], statistics: Mapping[str, Any] | None
) -> Iterator[str]:
    """What `held` in the files of a split differs in from the manifest's `facts` about it, and its statistics."""
    stated = facts.get("reviews"), facts.get("triplets")
    if stated != (held["reviews"], held["triplets"]):
        yield (
            f"{split}: {counted(held['reviews'], 'review')} and {counted(held['triplets'], 'triplet')}, "
            f"manifest.json says {stated[0]} and {stated[1]}"
        )
    polarities = {name: held[name] for name in POLARITIES}
    if facts.get("polarities") != polarities:
        yield f"{split}: polarities {polarities}, manifest.json says {facts.get('polarities')}"
    for layer in facts.get("layers", ()):
        name, stated_layer = layer["annotation"], (layer["reviews"], layer["triplets"])
        actual = held[f"{name} layer"], held[f"{name} triplets"]
        if stated_layer != actual:
            yield (
                f"{split}, layer {name}: {counted(actual[0], 'review')} and {counted(actual[1], 'triplet')}, "
                f"manifest.json says {stated_layer[0]} and {stated_layer[1]}"
            )
    for name, key in (("gold", "gold_reviews"), ("unverified negatives", "unverified_negatives")):
        if statistics is not None and statistics.get(key, 0) != held[name]:
            yield f"{split}, {name}: {counted(held[name], 'review')}, manifest.json says {statistics.get(key, 0)}"


_PART = 2_000
"""Lines of a worker's task."""


class LinesToCheck(NamedTuple):
    """Lines of a file, the first of them with its number."""

    file: str
    first: int
    lines: list[bytes]


class CheckedLines(NamedTuple):
    """What is wrong with some lines; what `count_faults` compares; the rows that keep the schema, and the numbers of
    the lines that hold none.
    """

    faults: list[str]
    counted: Counter[str]
    sound: list[RowLook]
    unsound: list[int]


class RowRules(NamedTuple):
    """What rows are held to: the layout, the masks of their release, its columns that passed through, and `compared`
    as in `RowLook.of`.
    """

    layout: int
    replacements: tuple[str, ...]
    kept: tuple[str, ...]
    compared: bool


def check_lines(release: Path, file: str, due: RowRules, crew: Crew) -> Iterator[CheckedLines]:
    """What is seen in a file of rows, part by part."""

    def parts() -> Iterator[LinesToCheck]:
        first = 1
        with (release / file).open("rb") as handle:  # a line ends in a line feed: texts may hold other separators
            while lines := list(islice(handle, _PART)):
                yield LinesToCheck(file, first, lines)
                first += len(lines)

    return crew.map(Job(RowRules, due, _check), parts())


def text_of(line: bytes) -> str:
    """A line without its line feed. What is no UTF-8 becomes a fault of it."""
    return line.decode("utf-8", "replace").removesuffix("\n")


def _check(due: RowRules, task: LinesToCheck) -> CheckedLines:
    checked = CheckedLines([], Counter(), [], [])
    with uncollected():
        for number, line in enumerate(task.lines, start=task.first):
            where = f"{task.file}:{number}"
            try:
                row = parse(text_of(line))
            except ValueError as error:
                fault: str | None = f"no row of a release: {error!r}"
            else:
                fault = schema_fault(row, due.layout)
            if fault:
                checked.faults.append(f"{where}: {fault}")
                checked.unsound.append(number)
                continue
            checked.faults.extend(f"{where}: {fault}" for fault in row_faults(row, checked.counted))
            if due.layout > 1 and tuple(row.get("columns", ())) != due.kept:
                stated = ", ".join(due.kept) or "none"
                checked.faults.append(f"{task.file}: {row['id']} has other columns than manifest.json says: {stated}")
            checked.sound.append(RowLook.of(row, due.replacements, due.compared))
    return checked


ALWAYS = ("README.md", "CHANGES.md", "CITATION.cff", "metadata.json")
"""Beside data, parquet and manifest in every release since format 2."""


def verify(release: Path, crew: Crew | None = None, apart: Mapping[str, str] | None = None) -> list[str]:
    """The faults of a release directory, none if it is sound; ReleaseError if it is no release at all.

    Args:
        release: the directory.
        crew: who checks its rows; this process, if nobody is named.
        apart: the digests of texts in which near-duplicates were looked for already (`WholeRelease.faults`).
    """
    path = release / "SHA256SUMS"
    if not path.is_file():
        raise ReleaseError(
            "no SHA256SUMS here", where=str(release), fix="name the directory of a release, such as releases/v0.1.0"
        )
    digests: dict[str, str] = {}
    faults = list(_checksums(release, path, digests))
    with uncollected():
        return faults or list(_content(release, digests, crew or LocalCrew(1), apart or {}))


def _checksums(release: Path, path: Path, digests: dict[str, str]) -> Iterator[str]:
    """What is wrong with the checksum file, or with a file by it; its entries go to `digests`."""
    content = path.read_bytes()
    before = 0
    for number, line in enumerate(content.decode("utf-8", "replace").split("\n")[:-1], start=1):
        digest, gap, name = line.partition("  ")
        if not gap or len(digest) != 64 or name in digests:
            before += 1
            yield f"SHA256SUMS:{number}: not a checksum line, or a second one for its file"
        digests[name] = digest
    if not before and sums(digests).encode("utf-8", "replace") != content:
        yield "SHA256SUMS: its bytes have changed"
    present = {
        file.relative_to(release).as_posix(): file
        for file in release.rglob("*")
        if file != path and (file.is_symlink() or not file.is_dir())
    }
    for name in sorted(digests.keys() - present.keys()):
        yield f"{name}: missing"
    for name in sorted(present.keys() - digests.keys()):
        yield f"{name}: not part of the release"
    for name in sorted(digests.keys() & present.keys()):
        if not present[name].is_file() or digest_file(present[name]) != digests[name]:
            yield f"{name}: its bytes have changed"
    due = {folder.as_posix() for name in digests for folder in Path(name).parents}
    folders = (folder for folder in release.rglob("*") if folder.is_dir() and not folder.is_symlink())
    for folder in sorted(folder.relative_to(release).as_posix() for folder in folders):
        if folder not in due:
            yield f"{folder}/: not part of the release"
    if "manifest.json" not in digests:
        yield "manifest.json: not listed in SHA256SUMS"


def _content(release: Path, digests: Mapping[str, str], crew: Crew, apart: Mapping[str, str]) -> Iterator[str]:
    """What the checksums cannot see: a release that was wrong when it was written."""
    try:
        manifest = read_json(release / "manifest.json")
        if fault := manifest_fault(manifest):
            yield f"manifest.json: not a manifest: {fault}"
            return
        layout = manifest.get("format", 1)
        if layout not in range(1, FORMAT + 1):
            yield f"manifest.json: format {layout!r}; this builder knows 1 to {FORMAT}"
            return
        files, splits = manifest["files"], manifest["splits"]
        if strange := [name for name in splits if not NAME.fullmatch(name)]:
            yield f"manifest.json: a split is called {strange[0]!r}"
            return
        if links := sorted(path for path in release.rglob("*") if path.is_symlink()):
            yield f"{links[0].relative_to(release)}: a link, where a release holds files"
        yield from _files(release, files, digests, layout)
        if layout > 1:
            yield from _metadata(release / "metadata.json", manifest)
    except (ValueError, OSError) as error:
        yield f"manifest.json: not a manifest: {error!r}"
        return
    with closing(WholeRelease()) as whole:
        for split in splits:
            yield from _reviews(release, split, manifest, whole, crew, not apart)
        augmented = manifest.get("augmentations", {})
        read_texts = lru_cache(maxsize=1)(partial(_texts, release))
        for layer, description in sorted(augmented.items(), key=lambda own: str(own[1]["split"])):
            if not augmentation_layers.NAME.fullmatch(layer) or description["split"] not in splits:
                yield f"manifest.json: a layer is called {layer!r}, of the split {description['split']!r}"
                continue
            yield from _layer(release, layer, manifest, whole, read_texts)
        yield from whole.repeats()
        if layout > 1:
            named = *parquet_files.LAYERS, *augmented
            due = {parquet_files.path(split, layer) for split in splits for layer in named}
            yield from (
                f"{name}: should not be there"
                for name in sorted(files)
                if name.startswith("parquet/") and name not in due
            )
            yield from whole.faults(apart)


def _metadata(path: Path, manifest: Mapping[str, Any]) -> Iterator[str]:
    """What is wrong with the Croissant description; whether it is there is asked elsewhere."""
    try:
        fault = croissant_fault(read_json(path), manifest) if path.is_file() else None
    except ValueError as error:
        fault = f"cannot be read: {error}"
    if fault:
        yield f"metadata.json: {fault}"


def _masks(manifest: Mapping[str, Any]) -> tuple[str, ...]:
    """The replacements that a release says it has masked personal data by."""
    return tuple(manifest.get("privacy", {}).get("masked", ()))


def _reviews(
    release: Path, split: str, manifest: Mapping[str, Any], whole: WholeRelease, crew: Crew, compared: bool
) -> Iterator[str]:
    """The rows of a split, their twins in Parquet, and what the manifest says of them."""
    path, layout = f"data/{split}.jsonl", manifest.get("format", 1)
    if not (release / path).is_file():
        yield f"{path}: missing"
        return
    counted: Counter[str] = Counter(
        dict.fromkeys(("reviews", "triplets", "gold", "unverified negatives", *POLARITIES), 0)
    )
    kept, unsound = kept_columns(manifest["config"]), set[int]()
    for checked in check_lines(release, path, RowRules(layout, _masks(manifest), kept, compared), crew):
        yield from checked.faults
        counted.update(checked.counted)
        unsound.update(checked.unsound)
        for look in checked.sound:
            whole.take(split, look)
    for layer in parquet_files.LAYERS if layout > 1 else ():
        twin = parquet_files.path(split, layer)
        if counted[f"{layer} layer"] or (release / twin).exists():
            lines = (line for number, line in enumerate(_lines(release / path), 1) if number not in unsound)
            own = (row for row in map(parse, lines) if row["annotation"] == layer)
            yield from _twin_faults(release, twin, own, parquet_files.schema(layout, kept), "reviews than data/")
    statistics = manifest.get("statistics", {}).get(split) if layout > 1 else None
    yield from count_faults(split, manifest["splits"][split], counted, statistics)


def _twin_faults(release: Path, path: str, rows: Iterable[ReviewRow], shape: Any, others: str) -> Iterator[str]:
    """What is wrong with the Parquet file that should hold these rows, and no `others`; pyarrow's errors are faults."""
    try:
        if not parquet_files.holds(release / path, rows, shape):
            yield f"{path}: holds other {others}"
    except (OSError, ValueError, TypeError, OverflowError) as error:
        yield f"{path}: cannot be read: {' '.join(str(error).split())}"


def _texts(release: Path, split: str) -> Mapping[str, str]:
    """The texts of a split by their ids."""
    return {row["id"]: row["text"] for row in rows(release, split)}


def _layer(
    release: Path,
    layer: str,
    manifest: Mapping[str, Any],
    whole: WholeRelease,
    read_texts: Callable[[str], Mapping[str, str]],
) -> Iterator[str]:
    """An augmentation layer: the gates of every row, and its lineage. Its texts and ids join those of the release;
    `read_texts` reads those of a split.
    """
    description, layout = manifest["augmentations"][layer], manifest.get("format", 1)
    try:
        split, stated_rows = str(description["split"]), int(description["rows"])
        sources = read_texts(split)
    except (KeyError, ValueError, TypeError, OSError, ReleaseError) as error:
        yield f"the layer {layer}: cannot be read: {' '.join(str(error).split())}"
        return
    path = augmentation_layers.path(split, layer)
    sound = []
    for number, line in enumerate(_lines(release / path) if (release / path).is_file() else (), start=1):
        outcome = _row(line, layer, sources, layout)
        yield from (
            f"{path}:{number}: {fault}"
            for fault in (outcome if isinstance(outcome, list) else row_faults(outcome, Counter()))
        )
        if not isinstance(outcome, list):
            sound.append(outcome)
    for row in sound:
        whole.take(Path(path).stem, RowLook.of(row, _masks(manifest)))
    if len(sound) != stated_rows:
        yield f"{path}: {counted(len(sound), 'row')}, manifest.json says {stated_rows}"
    twin, shape = parquet_files.path(split, layer), augmentation_layers.schema(layout)
    yield from _twin_faults(release, twin, sound, shape, f"rows than {path}")


def _row(line: str, layer: str, sources: Mapping[str, str], layout: int) -> LayerRow | list[str]:
    """A row of a layer, or its faults."""
    try:
        row = parse(line)
    except ValueError as error:
        return [f"no row of a layer: {error!r}"]
    named = augmentation_layers.renamed(row) if layout < 3 and isinstance(row, dict) else row
    faults = list(augmentation_layers.faults(named, layer, sources))
    if not faults and (fault := schema_fault(augmentation_layers.core(named, layout), layout)):
        faults = [fault]
    return faults or row


def _files(release: Path, files: Mapping[str, Any], digests: Mapping[str, str], layout: int) -> Iterator[str]:
    """Where the manifest says other than the checksums, by which every file is as it should be."""
    for name, facts in files.items():
        if digests.get(name) != facts["sha256"] or (release / name).stat().st_size != facts["bytes"]:
            yield f"{name}: not as manifest.json says"
    if layout > 1:
        unnamed = [
            *(name for name in ALWAYS if name not in files),
            *sorted(digests.keys() - files.keys() - {*ALWAYS, "manifest.json"}),
        ]
        yield from (f"{name}: not named in manifest.json" for name in unnamed)


def _lines(path: Path) -> Iterator[str]:
    """Lines as they end in a line feed: texts may hold other line separators."""
    with path.open("rb") as handle:
        yield from map(text_of, handle)


@contextmanager
def naming_faults(*releases: Path) -> Iterator[None]:
    """Whatever is raised inside the block about a release with faults, as a `ReleaseError` that leads to `verify`.

    About sound releases it is a defect of ours, and passes through, as what the file system refuses does.
    """
    try:
        yield
    except (BuilderError, OSError):
        raise
    except Exception as error:  # rows of any shape: there is nothing that they cannot raise
        for release in releases:
            if verify(release):
                what, fix = "its rows cannot be read as a release's", "`builder verify` names the faults"
                raise ReleaseError(what, where=str(release), fix=fix) from error
        raise
