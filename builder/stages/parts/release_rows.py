"""The splits of a release: which triplets of which reviews, each review with its row, no text in two of them.

With variant E every split holds what rules and panel hold together. With variants A to D train comes from the last
training set and valid from the rules; test is the union of rules and last model. Valid and test leave out what the
variant's judge rejects in train. In test the labels of people (gold) come in place of that. So do those of a language
model (silver, Table 7 of the paper), and then a review that nobody labelled is left out. Reviews without a triplet
stay as unverified negatives. Whatever is left out is named with its reason.
"""

from __future__ import annotations

import json
from array import array
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from heapq import merge
from itertools import groupby
from pathlib import Path

from builder.dedup.near_duplicates import among, clusters, disputed, links, normal
from builder.dedup.text_store import Texts
from builder.export.records import ReviewRow
from builder.lexicon.categories import Categories
from builder.metrics import Answer
from builder.records import StoredTriplet
from builder.stages.parts import judging
from builder.stages.parts.context import Context
from builder.stages.parts.examples import join_rows
from builder.stages.parts.release_triplets import Dropped, build_row
from builder.stages.parts.rounds import accepts
from builder.store import labelled, reviews, runs, training_sets, triplets
from builder.store.labelled import GOLD, SILVER, LabelledLayer
from builder.text import hashed

SPLITS = ("train", "valid", "test")
_FIRST = ("test", "valid", "train")
"""The order of precedence where two splits hold what only one may."""
KNOWN = 108
"""Bytes of memory of each review that is written: its text's hash, in a set, the name of its split, and its row id."""


@dataclass(slots=True)
class SplitDraft:
    """A split on the disk, with what is left out of it.

    Attributes:
        ids: the row ids of the reviews, line by line.
        near: the lines of reviews that are near-duplicates of one in a split that goes first.
        compared: for each review that people labelled their triplets, and those that would be released without them;
            under "" those of the build, under "silver" those of a language model.
        labelled_by: who labelled each layer of the split; empty where nobody did.
    """

    name: str
    path: Path
    ids: array[int] = field(default_factory=lambda: array("q"))
    near: set[int] = field(default_factory=set)
    dropped: list[Dropped] = field(default_factory=list)
    compared: dict[str, dict[str, tuple[list[Answer], list[Answer]]]] = field(default_factory=dict)
    labelled_by: dict[str, str] = field(default_factory=dict)

    def rows(self) -> Iterator[ReviewRow]:
        """The reviews that are released, in the order of the database."""
        return (row for n, row in self._lines() if n not in self.near)

    def close(self) -> None:
        """Name what is near another split's, and let the file go."""
        if self.near:
            why = "it is a near-duplicate of a review in another split"
            self.dropped += [
                (row["id"], "near-duplicate", why, self.ids[n], None) for n, row in self._lines() if n in self.near
            ]
        self.path.unlink()

    def released_ids(self) -> list[int]:
        """The row ids of the reviews that `rows` gives."""
        return [i for n, i in enumerate(self.ids) if n not in self.near]

    def _lines(self) -> Iterator[tuple[int, ReviewRow]]:
        with self.path.open("rb") as handle:
            for n, line in enumerate(handle):
                yield n, json.loads(line)


def write_drafts(context: Context, folder: Path) -> dict[str, SplitDraft]:
    """Train, valid and test. Near-duplicates, once masked, stand in one of them only: in the one that comes first."""
    layers = labelled.layers(context.connection)
    drafts = {name: SplitDraft(name, folder / f"{name}.draft") for name in _FIRST}
    drafts["test"].labelled_by = {name: layer.labelled_by for name, layer in layers.items()}
    seen: set[bytes] = set()
    written = (_write(context, drafts[name], layers if name == "test" else {}, seen) for name in _FIRST)
    with Texts(normal(text) for texts in written for text in texts) as texts:
        _mark_near_duplicates(drafts, texts)
    return {name: drafts[name] for name in SPLITS}


def train_source(context: Context) -> tuple[str, int]:
    """The variant that train comes from, and its last round."""
    variant = context.config.release.train_source or context.config.self_train.variants[0]
    return variant, runs.rounds(context.connection, variant)[-1].round


def _write(context: Context, draft: SplitDraft, layers: Mapping[str, LabelledLayer], seen: set[bytes]) -> Iterator[str]:
    """Write a split, and yield its texts. A review that masks made equal to an earlier one is left out.

    `seen` holds the hashes of the texts that are written.
    """
    with draft.path.open("wb") as out:
        for i, row in _rows(context, draft, layers):
            text = hashed(row["text"])
            if text in seen:
                why = "masked, its text equals that of a review released already"
                draft.dropped.append((row["id"], "masked-duplicate", why, i, None))
                continue
            seen.add(text)
            out.write((json.dumps(row, ensure_ascii=False) + "\n").encode())
            draft.ids.append(i)
            yield row["text"]


def _rows(context: Context, draft: SplitDraft, layers: Mapping[str, LabelledLayer]) -> Iterator[tuple[int, ReviewRow]]:
    """The reviews of a split by row id. Labels of people go before those of a language model, and these before what
    the build says.
    """
    categories = Categories(context.lexicon)
    heeded = train_source(context)[0] != "E" or judging.read_trust(context) != 0
    built = (("", triplet) for triplet in _silver(context, draft.name))
    labels = (_marked(context, layer, draft.name) for layer in layers.values())
    everything = merge(*labels, built, key=lambda marked: marked[1].id)
    in_split = reviews.in_split(context.connection, draft.name)
    for review, marked in join_rows(in_split, everything, lambda pair: pair[1].review):
        by = next((name for name in (GOLD, SILVER) if name in layers and review.id in layers[name].reviews), "")
        stored = [triplet for layer, triplet in marked if layer == by]
        row, left_out = build_row(context, categories, review, by or SILVER, stored, labelled=bool(by))
        if not by and SILVER in layers:
            draft.dropped.append((row["id"], "unlabelled", _UNLABELLED, review.id, None))
            continue
        draft.dropped += left_out
        if not heeded:  # verdicts of a judge that is not trusted decide nothing, and would read as if they did
            for triplet in row["triplets"]:
                triplet["verdict"] = None
        if by == GOLD:
            for other in ("", SILVER):
                if not other or (other in layers and review.id in layers[other].reviews):
                    silver = [triplet for layer, triplet in marked if layer == other]
                    instead = build_row(context, categories, review, SILVER, silver, labelled=bool(other))[0]
                    draft.compared.setdefault(other, {})[row["id"]] = _answers(row), _answers(instead)
        if row["triplets"] or not (reason := _unfit(context, stored, bool(by))):
            yield review.id, row
        else:
            draft.dropped.append((row["id"], *reason, review.id, None))


_UNLABELLED = "the layers of test were labelled, and nobody labelled this review"


def _marked(context: Context, layer: LabelledLayer, split: str) -> Iterator[tuple[str, StoredTriplet]]:
    """The triplets of a layer with its name."""
    for triplet in triplets.proposed(context.connection, layer.source, split):
        yield layer.name, triplet


def _answers(row: ReviewRow) -> list[Answer]:
    return [(triplet["aspect"]["text"], triplet["opinion"]["text"], triplet["polarity"]) for triplet in row["triplets"]]


def _unfit(context: Context, stored: Sequence[StoredTriplet], is_labelled: bool) -> tuple[str, str] | None:
    """Why a review whose row has no triplet is no example of a review without one."""
    if stored:
        return "emptied", "all that was found in it was left out, so it is no example of a review without a triplet"
    if not is_labelled and context.config.release.empty == "drop":
        return "empty", 'no triplet was found in it, and release.empty is "drop"'
    return None


def _silver(context: Context, name: str) -> Iterable[StoredTriplet]:
    """The triplets of rules and models for a split, by id. Valid and test hold what the variant accepts for train."""
    connection = context.connection
    variant, last = train_source(context)
    model = triplets.source_id(connection, f"{variant}{last}")
    if variant == "E":
        return triplets.proposed(connection, model, name) if model is not None else ()
    if name == "train":
        return training_sets.training(connection, variant, last)
    rules = triplets.source_id(connection, "rules")
    sources = [(rules, 0), *([(model, last)] if name == "test" else [])]
    pool = merge(
        *(_accepted(context, i, variant, number, name) for i, number in sources if i is not None),
        key=lambda triplet: triplet.id,
    )
    return (next(same) for _, same in groupby(pool, key=lambda triplet: triplet.id))


def _accepted(context: Context, source: int, variant: str, number: int, name: str) -> Iterator[StoredTriplet]:
    """The triplets of a source that the variant's judge would accept for train; `number` 0 for those of the rules."""
    judge = triplets.source_id(context.connection, judging.NAME)
    for verdict in triplets.judged(context.connection, source, judge or 0, name):
        if verdict.score is None or accepts(variant, number, verdict):
            yield verdict.stored


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
