"""The splits of a release on the disk: each review with its row, no text in two of them.

In: the database, read by workers, a range of reviews each (`release_reviews`). Out: a `SplitDraft` for each split, in
which near-duplicates of another split's reviews are marked.
"""

from __future__ import annotations

import json
from array import array
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain
from pathlib import Path

from builder.core.records import SPLITS
from builder.core.shards import Crew
from builder.gold.metrics import Answer
from builder.pipeline.context import Context, crew_of_this_machine
from builder.pipeline.release_reviews import SplitRange, make_job
from builder.release.gates import HASHED, digest_texts
from builder.release.package import WrittenRow
from builder.reviews.assignment import RANK
from builder.reviews.near_duplicates import among, clusters, disputed, links
from builder.reviews.rare_pairs import Texts
from builder.store import pool_labels, reviews
from builder.store.reviews import Rejection

_RANGE = 2_000
"""Reviews of a worker's task."""


@dataclass(slots=True)
class SplitDraft:
    """A split on the disk, with what is left out of it.

    Attributes:
        ids: the row ids of the reviews, line by line.
        hashes: those of their texts, line by line.
        near: the lines of reviews that are near-duplicates of one in a split that goes first.
        compared: for each gold review its gold triplets, and those that would be released without them;
            under "" those of the build, under "silver" those of a language model.
        layers: those of the split that are labelled in full, by name.
    """

    name: str
    path: Path
    ids: array[int] = field(default_factory=lambda: array("q"))
    hashes: bytearray = field(default_factory=bytearray)
    near: set[int] = field(default_factory=set)
    dropped: list[Rejection] = field(default_factory=list)
    compared: dict[str, dict[str, tuple[list[Answer], list[Answer]]]] = field(default_factory=dict)
    layers: Mapping[str, pool_labels.LabelledLayer] = field(default_factory=dict)

    def rows(self) -> Iterator[WrittenRow]:
        """The reviews that are released, in the order of the database."""
        return (written for n, written in self._lines() if n not in self.near)

    def close(self) -> None:
        """Name what is near another split's, and let the file go."""
        if self.near:
            why = "it is a near-duplicate of a review in another split"
            self.dropped += [
                Rejection(written.row["id"], "near-duplicate", why, self.ids[n], None)
                for n, written in self._lines()
                if n in self.near
            ]
        self.path.unlink()

    def released_ids(self) -> list[int]:
        """The row ids of the reviews that `rows` gives."""
        return [i for n, i in enumerate(self.ids) if n not in self.near]

    def digest(self) -> str:
        """What identifies the texts of the reviews that `rows` gives: no near-duplicate stands in another split."""
        kept = (self.hashes[HASHED * n : HASHED * (n + 1)] for n in range(len(self.ids)) if n not in self.near)
        return digest_texts(b"".join(kept))

    def _lines(self) -> Iterator[tuple[int, WrittenRow]]:
        with self.path.open("rb") as handle:
            for n, written in enumerate(handle):
                row, *others = written.removesuffix(b"\n").split(b"\t")
                yield n, WrittenRow(json.loads(row), row + b"\n", *(part and part + b"\n" for part in others))


def write_drafts(context: Context, folder: Path) -> dict[str, SplitDraft]:
    """Train, valid and test. Near-duplicates, once masked, stand in one of them only: in the one that comes first."""
    drafts = {name: SplitDraft(name, folder / f"{name}.draft") for name in RANK}
    drafts["test"].layers = pool_labels.layers(context.connection)
    seen: set[bytes] = set()
    with (
        crew_of_this_machine(context) as crew,
        Texts(text for name in RANK for text in _write(context, drafts[name], crew, seen)) as texts,
    ):
        _mark_near_duplicates(drafts, texts)
    return {name: drafts[name] for name in SPLITS}


def _write(context: Context, draft: SplitDraft, crew: Crew, seen: set[bytes]) -> Iterator[str]:
    """Write a split, and yield its normal texts. A review that masks made equal to an earlier one is left out.

    `seen` holds the hashes of the texts that are written.
    """
    with draft.path.open("wb") as out:
        parts = crew.map(make_job(context), _ranges(context, draft.name))
        for built, normal in chain.from_iterable(zip(part.reviews, part.normal, strict=True) for part in parts):
            draft.dropped += built.dropped
            for layer, answers in built.compared.items():
                draft.compared.setdefault(layer, {})[built.id] = answers
            if not built.written:
                continue
            if built.known in seen:
                why = "masked, its text equals that of a review released already"
                draft.dropped.append(Rejection(built.id, "masked-duplicate", why, built.review, None))
                continue
            seen.add(built.known)
            out.write(built.written)
            draft.ids.append(built.review)
            draft.hashes += built.known
            yield normal


def _ranges(context: Context, split: str) -> Iterator[SplitRange]:
    ids = array("q", reviews.ids_in_split(context.connection, split))
    for start in range(0, len(ids), _RANGE):
        part = ids[start : start + _RANGE]
        yield SplitRange(split, part[0], part[-1])


def _mark_near_duplicates(drafts: Mapping[str, SplitDraft], texts: Sequence[str]) -> None:
    """Mark near-duplicates of reviews in a split that goes first; `texts` are normalised, in the order of `drafts`."""
    where = [name for name, draft in drafts.items() for _ in draft.ids]
    first = {name: where.index(name) for name in set(where)}
    crossing = disputed(clusters(len(texts), links(texts)), enumerate(where))
    gone: set[int] = set()
    for a, b in sorted(among(texts, crossing)):  # in order: a stands in the split that goes first
        if where[a] != where[b] and a not in gone:
            gone.add(b)
    for n in gone:
        drafts[where[n]].near.add(n - first[where[n]])
