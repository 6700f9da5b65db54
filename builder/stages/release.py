"""release: the triplets of each split, masked and in the wanted script, as an immutable versioned directory.

Sources per split as in Table 7 of the paper: train from the last training set of the chosen variant, valid from the rules, test from
gold where people labelled it, else the union of rules and last models. Built in a temporary directory, verified, then renamed: there
is a whole release or none.
"""

from __future__ import annotations

import json
import os
import re
import shutil
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from builder import __version__, privacy
from builder.config import flat
from builder.errors import ReleaseError
from builder.export import paper
from builder.export.manifest import Facts, Split, card, checksums, manifest, sha256
from builder.export.records import ReviewRow, TripletRow, triplet_row
from builder.export.records import triplet as released
from builder.export.verify import verify
from builder.records import Element, Review, StoredTriplet, Triplet
from builder.stages.context import Context
from builder.store import db, reviews, runs, triplets
from builder.store.queries import public_id
from builder.text import same_script

_VERSION = re.compile(r"v(\d+)\.(\d+)\.(\d+)")


@dataclass(frozen=True, slots=True)
class _Made:
    """A split ready to be written, and what was left out of it as (triplet or review, reason, detail)."""

    split: Split
    rows: list[ReviewRow]
    dropped: list[tuple[str, str, str]]


def run(context: Context) -> runs.Counts:
    seen: set[str] = set()
    by_name = {name: _split(context, name, seen) for name in ("test", "valid", "train")}
    made = [by_name[name] for name in ("train", "valid", "test")]
    data = {path: content for one in made for path, content in _files(one)}
    digest = sha256(checksums(data).encode())
    for version, parent in _versions(context, digest):
        facts = _facts(context, made, version, parent)
        files = data | {"README.md": card(facts).encode()}
        files["manifest.json"] = manifest(facts, files).encode()
        files["SHA256SUMS"] = checksums(files).encode()
        target = context.out / f"v{version}"
        if not target.exists():
            _write(target, files)
            break
        if _holds(target, files):
            break
    else:
        raise ReleaseError(
            "this version exists with other content", where=str(target), fix="a release is immutable: set release.version to a new one"
        )
    with db.atomic(context.connection):
        reviews.clear_rejected(context.connection, "release")
        reviews.reject(context.connection, "release", ((item, reason, detail, "") for one in made for item, reason, detail in one.dropped))
        runs.set_release(context.connection, version, str(target), digest)
    return {"version": version, "path": str(target)} | {f"{one.split.name}": one.split.triplets for one in made} | dict(facts.dropped)


def _split(context: Context, name: str, seen: set[str]) -> _Made:
    """A split; `seen` holds the texts of splits made before it. Masks can make two texts equal: the later one is left out."""
    source, annotation, stored = _chosen(context, name)
    names = triplets.names(context.connection)
    rules = triplets.rule_names(context.connection)
    grouped: dict[int, list[StoredTriplet]] = {}
    for one in stored:
        grouped.setdefault(one.review, []).append(one)
    rows: list[ReviewRow] = []
    dropped: list[tuple[str, str, str]] = []
    for review in reviews.in_split(context.connection, name):
        row = _row(context, review, annotation, grouped.get(review.id, []), names, rules, dropped)
        if not row["triplets"] and annotation != "gold":
            continue
        if row["text"] in seen:
            dropped.append((review.key, "masked-duplicate", "masked, its text equals that of a review released already"))
            continue
        seen.add(row["text"])
        rows.append(row)
    listed = [one for row in rows for one in row["triplets"]]
    polarities = {polarity: sum(one["polarity"] == polarity for one in listed) for polarity in ("POS", "NEG", "NEU")}
    return _Made(Split(name, source, annotation, len(rows), len(listed), polarities), rows, dropped)


def _chosen(context: Context, name: str) -> tuple[str, str, Iterator[StoredTriplet]]:
    """(source, gold or silver, triplets) of a split."""
    connection = context.connection
    variants = context.config.self_train.variants
    variant = context.config.release.train_source or variants[0]
    last = runs.rounds(connection, variant)[-1].round
    if name == "train":
        return f"self-train-{variant} S_{last}", "silver", triplets.training(connection, variant, last)
    source = {one: triplets.source_id(connection, one) for one in ("rules", "gold", f"{variant}{last}")}
    assert source["rules"] is not None
    if name == "test" and source["gold"] is not None:
        return "gold", "gold", triplets.proposed(connection, source["gold"], name)
    if name == "valid":
        return "rules", "silver", triplets.proposed(connection, source["rules"], name)
    everyone = {
        one.id: one
        for i in (source["rules"], source[f"{variant}{last}"])
        if i is not None
        for one in triplets.proposed(connection, i, name)
    }
    return f"union of rules and self-train-{variant}", "silver", iter(everyone[i] for i in sorted(everyone))


def _row(
    context: Context, review: Review, annotation: str, stored: list[StoredTriplet], names: dict[int, tuple[str, ...]],
    rules: dict[int, str], dropped: list[tuple[str, str, str]],
) -> ReviewRow:  # fmt: skip
    """A review as it is released. Where two sources mark one place differently, the rules win, then the triplet that stands first."""
    masked = privacy.mask(review.text, [review.place] if review.place else [])
    text = same_script(masked.text, context.config.release.script)
    kept: list[tuple[Triplet, TripletRow]] = []
    order = sorted(
        stored, key=lambda one: ("rules" not in names.get(one.id, ()), one.triplet.opinion.start, one.triplet.aspect.start, one.id)
    )
    for one in order:
        i = f"{_public(context, review.key)}:{one.id & (1 << triplets.BITS) - 1:08x}"
        moved = _masked(one.triplet, masked, text)
        if moved is None:
            dropped.append((i, "masked", "it overlaps what privacy masks"))
            continue
        earlier = next((other for other, _ in kept if overlap(other.aspect, moved.aspect) and overlap(other.opinion, moved.opinion)), None)
        if earlier is None:
            kept.append((moved, triplet_row(i, moved, names.get(one.id, ()), tuple(filter(None, [rules.get(one.id)])))))
        elif (earlier.aspect.spans, earlier.opinion.spans) == (moved.aspect.spans, moved.opinion.spans):
            dropped.append((i, "contradiction", f"the pair is {earlier.polarity} from a source that comes first"))
        else:
            dropped.append((i, "overlap", f"a source that comes first says {earlier.aspect.text} {earlier.opinion.text}"))
    listed = sorted((row for _, row in kept), key=lambda row: (row["opinion"]["spans"], row["aspect"]["spans"]))
    return {
        "id": _public(context, review.key), "text": text, "language": {"traditional": "zh-Hant", "simplified": "zh-Hans"}.get(review.script, "zh"),
        "rating": review.rating, "annotation": annotation, "triplets": listed,
    }  # fmt: skip


def _public(context: Context, key: str) -> str:
    """A review's id as it is released: its own, or a hash that leads back to no site (release.ids)."""
    return public_id(key) if context.config.release.ids == "hash" else key


def _masked(triplet: Triplet, masked: privacy.Masked, text: str) -> Triplet | None:
    """The triplet over the masked text in its released script; None if a mask covers a part of it."""

    def moved(element: Element) -> Element | None:
        spans = [masked.to_masked(span) for span in element.spans]
        whole = tuple(span for span in spans if span is not None)
        return Element("".join(text[start:end] for start, end in whole), whole) if len(whole) == len(spans) else None

    parts = [moved(one) for one in (triplet.aspect, triplet.aspect_full, triplet.opinion, triplet.opinion_full)]
    owner = moved(triplet.owner) if triplet.owner else None
    aspect, aspect_full, opinion, opinion_full = parts
    if aspect is None or aspect_full is None or opinion is None or opinion_full is None or (triplet.owner and owner is None):
        return None
    return Triplet(aspect, aspect_full, opinion, opinion_full, triplet.polarity, triplet.valence, owner)


def overlap(one: Element, other: Element) -> bool:
    """Whether two elements share a character."""
    return any(a < d and c < b for a, b in one.spans for c, d in other.spans)


def _files(made: _Made) -> Iterator[tuple[str, bytes]]:
    """data/ and paper/ of a split; what the paper's format cannot hold is written beside it."""
    lines = [json.dumps(row, ensure_ascii=False) + "\n" for row in made.rows]
    yield f"data/{made.split.name}.jsonl", "".join(lines).encode()
    answers, skipped = [], []
    for number, row in enumerate(made.rows, start=1):
        listed = [released(one) for one in row["triplets"]]
        answers.append(paper.line(number, row["text"], [one for one in listed if paper.refused(one) is None]) + "\n")
        skipped += [
            json.dumps({"id": i["id"], "reason": why}, ensure_ascii=False) + "\n"
            for i, one in zip(row["triplets"], listed, strict=True)
            if (why := paper.refused(one))
        ]
    yield f"paper/{made.split.name}.json", "".join(answers).encode()
    if skipped:
        yield f"paper/{made.split.name}.skipped.jsonl", "".join(skipped).encode()


def _facts(context: Context, made: list[_Made], version: str, parent: str | None) -> Facts:
    reasons = [reason for one in made for _, reason, _ in one.dropped]
    config = flat(context.config)
    return Facts(
        name=context.config.release.name,
        version=version,
        parent=parent,
        licence=context.config.release.licence,
        builder=__version__,
        splits=[one.split for one in made],
        signatures=triplets.signatures(context.connection)
        | {"annotations": reviews.backend(context.connection), "lexicons": context.lexicon.digest},
        # What does not change the result stays out, so that the same data is the same bytes: workers, paths.
        config={
            key: value for key, value in config.items() if key not in ("workers", "evaluate.gold", "annotate.models", "release.version")
        },
        ingest=runs.runs(context.connection)["ingest"].counts,
        dropped={reason: reasons.count(reason) for reason in ("masked", "contradiction", "overlap", "masked-duplicate")},
        metrics=runs.metrics(context.connection),
    )


def _versions(context: Context, digest: str) -> Iterator[tuple[str, str | None]]:
    """Versions to try, each with its parent: those that hold this data already, then, if they tell of it otherwise (another licence,
    other scores), the next patch; new data gets the next minor version."""
    existing = sorted(tuple(map(int, match.groups())) for path in context.out.glob("v*") if (match := _VERSION.fullmatch(path.name)))
    asked = context.config.release.version
    names = [".".join(map(str, one)) for one in existing]
    if asked:
        older = [name for name, one in zip(names, existing, strict=True) if one < tuple(map(int, asked.split(".")))]
        yield asked, older[-1] if older else None
        return
    same = [i for i, name in enumerate(names) if _data_digest(context.out / f"v{name}") == digest]
    yield from ((names[i], names[i - 1] if i else None) for i in same)
    if same:
        major, minor, _ = existing[same[-1]]
        patch = max(one[2] for one in existing if one[:2] == (major, minor))
        yield f"{major}.{minor}.{patch + 1}", names[same[-1]]
    elif existing:
        major, minor, _ = existing[-1]
        yield f"{major}.{minor + 1}.0", names[-1]
    else:
        yield "0.1.0", None


def _data_digest(release: Path) -> str:
    """The digest of the checksum lines of data/ and paper/ in a release."""
    try:
        lines = (release / "SHA256SUMS").read_text(encoding="utf-8").splitlines(keepends=True)
    except OSError:
        return ""
    return sha256("".join(line for line in lines if line[66:].startswith(("data/", "paper/"))).encode())


def _holds(target: Path, files: dict[str, bytes]) -> bool:
    """Whether an existing release is this very one; a damaged one is an error."""
    if faults := verify(target):
        raise ReleaseError(f"this release is damaged: {faults[0]}", where=str(target), fix="remove it, then `builder resume`")
    return all((target / path).is_file() and (target / path).read_bytes() == content for path, content in files.items())


def _write(target: Path, files: dict[str, bytes]) -> None:
    """Write beside the target, verify, rename."""
    building = target.parent / f".{target.name}.building"
    shutil.rmtree(building, ignore_errors=True)
    try:
        for path, content in files.items():
            (building / path).parent.mkdir(parents=True, exist_ok=True)
            with open(building / path, "wb") as handle:
                handle.write(content)
                handle.flush()
                os.fsync(handle.fileno())
        faults = verify(building)
        if faults:
            raise ReleaseError(
                f"the release does not verify: {faults[0]}" + (f" and {len(faults) - 1} more" if len(faults) > 1 else ""),
                where=str(building),
            )
        for folder in {building, *(path.parent for path in building.rglob("*"))}:
            _sync(folder)
        os.rename(building, target)
    except BaseException:
        shutil.rmtree(building, ignore_errors=True)
        raise
    _sync(target.parent)


def _sync(folder: Path) -> None:
    """The names in a folder, on the disk."""
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
