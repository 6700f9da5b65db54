"""The reviews of a split as a release holds them, a range of them at a time: what the stage release has workers do.

In: the database, a split and two row ids. Out: a `BuiltReview` for each review of the split between them. With variant
E every split holds what rules and shipped model hold together. With variants A to D train comes from the last training
set and valid is what the rules found; test is the union of rules and last model, without what the variant's judge
rejects in train. In test gold labels come in place of that. So do those of a language model (silver, Table 7 of the
paper), and then a review that nobody labelled is left out. Reviews without a triplet stay as unverified negatives.
Whatever is left out is named with its reason.

One review as a release shows it: repaired, masked, in the wanted script, one opinion of one place once.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from heapq import merge
from itertools import groupby
from pathlib import Path
from typing import NamedTuple

from builder.core.edges import shared, tidied
from builder.core.machine import uncollected
from builder.core.records import Element, Released, Review, Span, StoredTriplet, Triplet
from builder.core.settings import Config
from builder.core.shards import Job
from builder.engine.reader import to_view
from builder.gold.metrics import Answer
from builder.language.lexicon.categories import Categories
from builder.language.lexicon.resources import Lexicon
from builder.pipeline import judging
from builder.pipeline.borders import move_borders
from builder.pipeline.context import ArrivedWords, Context, pack_words, unpack_words
from builder.pipeline.judging import join_rows
from builder.pipeline.rounds import accepts
from builder.release.export.native_rows import ReviewRow, TripletRow, answers_of, triplet_row
from builder.release.package import write_row
from builder.reviews import masking as privacy
from builder.reviews.near_duplicates import normal
from builder.reviews.script import language_tag, same_script
from builder.reviews.text import hashed, read_part, repaired_view
from builder.store import db, reviews, runs, triplets
from builder.store import pool_labels as labelled
from builder.store.pool_labels import GOLD, SILVER, LabelledLayer
from builder.store.queries import public_id
from builder.store.released import Provenance, provenance
from builder.store.reviews import Rejection

_UNKNOWN = Provenance()
_UNSEEN = "span", "a part of it is nothing that is seen"
_Kept = list[tuple[Triplet, TripletRow]]


_WHOLES = ("generic", "kind")
"""Roles of words for what is reviewed as a whole."""
_PASSABLE = "ordinary.passable"
_PASSABLE_VALENCES = {"POS": 6.0, "NEU": 5.0}


def build_row(
    context: Context,
    categories: Categories,
    review: Review,
    annotation: str,
    stored: Sequence[StoredTriplet],
    labelled: bool,
) -> tuple[ReviewRow, list[Rejection]]:
    """A review as it is released, and the triplets that it loses. `labelled`: people or a language model decided on
    them, so no confidence is asked.

    Where two sources mark one place differently, the rules win, then the triplet that stands first.
    """
    shown = repaired_view(review.text)
    masked = privacy.mask(shown.text, [review.place] if review.place else [])
    script, variants = context.config.release.script, context.lexicon.variants
    text = masked.in_script(lambda part: same_script(part, script, variants))
    key = public_id(review.key) if context.config.release.ids == "hash" else review.key
    known = provenance(context.connection, review.id) if stored else {}
    kept: _Kept = []
    dropped: list[Rejection] = []
    others = [one.triplet for one in stored]
    for candidate in sorted(stored, key=lambda triplet: _precedence(triplet, known)):
        origin = known.get(candidate.id, _UNKNOWN)
        id_ = f"{key}:{candidate.id & (1 << triplets.BITS) - 1:08x}"
        doubt = None if labelled else _doubt(context, origin) or _whole(context, categories, candidate.triplet, origin)
        wanted = candidate.triplet
        if not labelled:
            wanted = _as_wanted(context, categories, review, wanted, origin, others)
        placed = wanted if shown.text == review.text else to_view(wanted, shown)
        released = doubt or (_release(shown.text, placed, annotation, masked, text) if placed else _UNSEEN)
        reason = released if isinstance(released, tuple) else _conflict(kept, released)
        if reason is not None:
            doubted = (judging.NAME, origin.confidence, context.config.release.min_confidence)
            decided = doubted if reason is doubt else (None, None, None)
            dropped.append(Rejection(id_, *reason, review.id, candidate.id, *decided))
        elif isinstance(released, Triplet):
            # what people labelled needs no confidence
            sure = None if origin.confidence is None or annotation == "gold" else round(origin.confidence, 4)
            about = _describe(id_, categories, placed or candidate.triplet, origin)
            kept.append((released, triplet_row(released, about, origin.rules, sure)))
    rows = sorted((row for _, row in kept), key=lambda row: (row["opinion"]["spans"], row["aspect"]["spans"]))
    row: ReviewRow = {
        "id": key, "text": text, "language": _language(context, review),
        "rating": review.rating, "source": review.source or None, "annotation": annotation,
        "unverified_negative": annotation == "silver" and not rows, "triplets": rows,
    }  # fmt: skip
    if names := context.config.input.keep_columns:
        cells = reviews.columns_of(context.connection, review.id)
        own = [review.place] if review.place else []
        row["columns"] = {name: privacy.mask(cells[name], own).text if name in cells else None for name in names}
    return row, dropped


def _language(context: Context, review: Review) -> str:
    """The language of a review in the script that it is released in, by what is read of it if that tells."""
    wanted = context.config.release.script
    texts = [same_script(text, wanted, context.lexicon.variants) for text in (read_part(review.text), review.text)]
    return language_tag(*texts, script=None if wanted == "keep" else wanted)


def _precedence(stored: StoredTriplet, known: Mapping[int, Provenance]) -> tuple[bool, int, int, int]:
    """Sorts what the rules found first, then by place in the text."""
    by_rules = "rules" in known.get(stored.id, _UNKNOWN).sources
    return not by_rules, stored.triplet.opinion.start, stored.triplet.aspect.start, stored.id


def _doubt(context: Context, origin: Provenance) -> tuple[str, str] | None:
    """The (reason, detail) why a triplet is not sure enough; None where it is."""
    least = context.config.release.min_confidence
    if origin.confidence is None or origin.confidence >= least:
        return None
    return "unsure", f"its confidence is {origin.confidence:.2f}, below release.min_confidence {least:g}"


def _whole(context: Context, categories: Categories, triplet: Triplet, origin: Provenance) -> tuple[str, str] | None:
    """The (reason, detail) why a triplet of the product as a whole is left out; None where it is wanted."""
    if context.config.release.whole_products == "keep":
        return None
    if not is_whole(context.lexicon, origin.aspect_category or categories.aspect(triplet.aspect.text)):
        return None
    return "whole", f"{triplet.aspect.text} is the product as a whole"


def is_whole(lexicon: Lexicon, category: str | None) -> bool:
    """Whether an aspect of a category is what is reviewed as a whole (`release.whole_products`)."""
    return lexicon.classes.get(category or "") in _WHOLES


def is_passable(category: str | None) -> bool:
    """Whether an opinion of a category says that something is just good enough (`release.passable`)."""
    return category == _PASSABLE


def _as_wanted(
    context: Context,
    categories: Categories,
    review: Review,
    triplet: Triplet,
    origin: Provenance,
    others: Sequence[Triplet],
) -> Triplet:
    """The triplet with the borders that the release wants, and the polarity for what is just good enough."""
    wanted = context.config.release
    moved = move_borders(triplet, review.text, wanted, others)
    if wanted.passable == "keep" or not is_passable(origin.opinion_category or categories.opinion(moved.opinion.text)):
        return moved
    return replace(moved, polarity=wanted.passable, valence=_PASSABLE_VALENCES[wanted.passable])


def _release(
    source: str, triplet: Triplet, annotation: str, masked: privacy.Masked, text: str
) -> Triplet | tuple[str, str]:
    """The triplet of `source`, a repaired text, over the released text; or the (reason, detail) why it is left out."""
    tidy = tidied(source, triplet) if annotation == "silver" else triplet
    if tidy is None:
        return "span", "aspect and opinion overlap, or a mark stands inside the aspect"
    moved = _mask(tidy, masked, source, text)
    return ("masked", "it overlaps what privacy masks") if moved is None else moved


def _conflict(kept: _Kept, triplet: Triplet) -> tuple[str, str] | None:
    """The (reason, detail) why a triplet cannot stand beside one that comes first; None where it can."""
    for earlier, _ in kept:
        if shared(earlier.aspect, triplet.aspect) and shared(earlier.opinion, triplet.opinion):
            if (earlier.aspect.spans, earlier.opinion.spans) == (triplet.aspect.spans, triplet.opinion.spans):
                if earlier.polarity == triplet.polarity:
                    return "masked", "without the masked name it says what another triplet says"
                return "contradiction", f"the pair is {earlier.polarity} from a source that comes first"
            return "overlap", f"a source that comes first says {earlier.aspect.text} {earlier.opinion.text}"
    return None


def _describe(public: str, categories: Categories, triplet: Triplet, known: Provenance) -> Released:
    """What the release says of a triplet. A category that the rule did not record comes from the lexicon."""
    aspect = known.aspect_category or categories.aspect(triplet.aspect.text)
    return Released(
        public, known.sources, known.verdict, aspect, known.opinion_category or categories.opinion(triplet.opinion.text)
    )


def _mask(triplet: Triplet, masked: privacy.Masked, source: str, text: str) -> Triplet | None:
    """The triplet of the text `source` over the masked text in its released script; None if a mask covers a part of
    its opinion, or other than a name of its aspect.

    What is judged may be masked: an aspect in the name of a place becomes the mask of the name, else the review would
    seem to judge nothing there. One in the name of a person becomes the role beside it.
    """
    if not masked.masks and text == source:  # nearly always
        return triplet
    opinions = (*triplet.opinion.spans, *triplet.opinion_full.spans)
    if any(masked.to_masked(span) is None for span in opinions):
        return None

    def move(element: Element) -> Element | None:
        whole: list[Span] = []
        for span in element.spans:
            if (moved := masked.judged(span)) is None:
                return None
            if whole and moved[0] < whole[-1][1]:  # both belong to the same name
                moved = min(moved[0], whole[-1][0]), max(moved[1], whole[-1][1])
                whole.pop()
            whole.append(moved)
        return Element.at(text, whole)

    return triplet.mapped(move)


Compared = dict[str, tuple[list[Answer], list[Answer]]]
"""The triplets that people say, and those that would be released without them: under "" those of the build, under
"silver" those of a language model."""
_Marked = tuple[str, StoredTriplet]
"""A triplet with the name of its layer, "" for what the build says."""


class SplitRange(NamedTuple):
    """The reviews of a split from one row id to another."""

    split: str
    first: int
    last: int

    @property
    def within(self) -> tuple[int, int]:
        return self.first, self.last


class BuiltReview(NamedTuple):
    """A review by its row id and the id that the release gives it.

    `written` is its row as the release writes it, `line`, `answer` and `refused` of `package.WrittenRow` parted by
    tabs, empty where it is left out; `text` and `known` its text and the hash of it.
    """

    review: int
    id: str
    written: bytes
    known: bytes
    text: str
    dropped: list[Rejection]
    compared: Compared


class BuiltRange(NamedTuple):
    """The reviews of a range, and for each its normal text: what is compared with other reviews."""

    reviews: list[BuiltReview]
    normal: list[str]


_Worker = tuple[Path, Callable[[sqlite3.Connection], Context], Categories]
"""What a worker keeps: where the database lies, the build's context but for the connection, which it opens for each
task, and the categories.
"""


def make_job(context: Context) -> Job[_Worker, SplitRange, BuiltRange]:
    """The job whose tasks are ranges. Its workers read the database, so they are processes of this machine."""
    return Job(_prepare, (context.config, context.workdir, pack_words(context)), _build)


def train_source(context: Context) -> tuple[str, int]:
    """The variant that train comes from, and its last round."""
    variant = context.config.release.train_source or context.config.self_train.variants[0]
    return variant, runs.rounds(context.connection, variant)[-1].round


def _prepare(config: Config, workdir: Path, words: ArrivedWords) -> _Worker:
    folders, lexicon = unpack_words(words)
    make_context = partial(
        Context, config=config, workdir=workdir, inputs=(), out=workdir, lexicon=lexicon, rules=(), key="",
        folders=folders,
    )  # fmt: skip
    return workdir, make_context, Categories(lexicon)


def _build(worker: _Worker, task: SplitRange) -> BuiltRange:
    workdir, make_context, categories = worker
    with uncollected(), db.reading(workdir) as connection:
        built = list(build_reviews(make_context(connection), categories, task))
        # All normal texts at the end: OpenCC takes longer for a text where other work came before it.
        return BuiltRange(built, [normal(review.text) if review.text else "" for review in built])


def build_reviews(context: Context, categories: Categories, task: SplitRange) -> Iterator[BuiltReview]:
    """The reviews of a range. Labels of people go before a language model's, and these before what the build says."""
    connection = context.connection
    layers = labelled.layers(connection) if task.split == "test" else {}
    built = (("", triplet) for triplet in _silver(context, task))
    labels = (_marked(context, layer, task) for layer in layers.values())
    everything = merge(*labels, built, key=lambda marked: marked[1].id)
    in_range = reviews.in_range(connection, *task)
    for review, marked in join_rows(in_range, everything, lambda pair: pair[1].review):
        yield _build_review(context, categories, review, marked, layers)


def _build_review(
    context: Context,
    categories: Categories,
    review: Review,
    marked: Sequence[_Marked],
    layers: Mapping[str, LabelledLayer],
) -> BuiltReview:
    by = next((name for name in (GOLD, SILVER) if name in layers and review.id in layers[name].reviews), "")
    stored = [triplet for layer, triplet in marked if layer == by]
    row, dropped = build_row(context, categories, review, by or SILVER, stored, labelled=bool(by))
    compared: Compared = {}
    left_out = BuiltReview(review.id, row["id"], b"", b"", "", dropped, compared)
    if not by and SILVER in layers:
        why = "the layers of test were labelled, and nobody labelled this review"
        return left_out._replace(dropped=[Rejection(row["id"], "unlabelled", why, review.id, None)])
    if by == GOLD:
        for other in ("", SILVER):
            if not other or (other in layers and review.id in layers[other].reviews):
                silver = [triplet for layer, triplet in marked if layer == other]
                instead = build_row(context, categories, review, SILVER, silver, labelled=bool(other))[0]
                compared[other] = answers_of(row), answers_of(instead)
    if not row["triplets"] and (reason := _unfit(context, stored, bool(by))):
        return left_out._replace(dropped=[*dropped, Rejection(row["id"], *reason, review.id, None)])
    written = b"\t".join(part.rstrip(b"\n") for part in write_row(row)[1:]) + b"\n"  # JSON holds no bare tab
    return BuiltReview(review.id, row["id"], written, hashed(row["text"]), row["text"], dropped, compared)


def _marked(context: Context, layer: LabelledLayer, task: SplitRange) -> Iterator[_Marked]:
    """The triplets of a layer with its name."""
    for triplet in triplets.proposed(context.connection, layer.source, task.split, within=task.within):
        yield layer.name, triplet


def _unfit(context: Context, stored: Sequence[StoredTriplet], is_labelled: bool) -> tuple[str, str] | None:
    """Why a review whose row has no triplet is no example of a review without one."""
    if stored:
        return "emptied", "all that was found in it was left out, so it is no example of a review without a triplet"
    if not is_labelled and context.config.release.empty == "drop":
        return "empty", 'no triplet was found in it, and release.empty is "drop"'
    return None


def _silver(context: Context, task: SplitRange) -> Iterable[StoredTriplet]:
    """The triplets of rules and models for a split, by id: in valid those of the rules (Table 7 of the paper)."""
    connection = context.connection
    variant, last = train_source(context)
    model = triplets.source_id(connection, f"{variant}{last}")
    if variant == "E":
        return triplets.proposed(connection, model, task.split, within=task.within) if model is not None else ()
    if task.split == "train":
        return triplets.training(connection, variant, last, task.within)
    rules = triplets.source_id(connection, "rules")
    if task.split == "valid":
        return triplets.proposed(connection, rules, task.split, within=task.within) if rules is not None else ()
    sources = [(rules, 0), (model, last)]
    pool = merge(
        *(_accepted(context, i, variant, number, task) for i, number in sources if i is not None),
        key=lambda triplet: triplet.id,
    )
    return (next(same) for _, same in groupby(pool, key=lambda triplet: triplet.id))


def _accepted(context: Context, source: int, variant: str, number: int, task: SplitRange) -> Iterator[StoredTriplet]:
    """The triplets of a source that the variant's judge would accept for train; `number` 0 for those of the rules."""
    judge = triplets.source_id(context.connection, judging.NAME)
    for verdict in triplets.judged(context.connection, source, judge or 0, task.split, task.within):
        if verdict.score is None or accepts(variant, number, verdict):
            yield verdict.stored
