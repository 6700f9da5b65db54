"""What a release says of each review: which triplets, masked, in the wanted script, one opinion of one place once,
and how sure each is.

With variant E every split holds what rules and panel hold together, test what people say where they labelled it. With
variants A to D train comes from the last training set, valid from the rules, test from the union of rules and last
model (Table 7 of the paper), both less what the variant's judge rejects in train. Reviews in which nothing was found
stay as unverified negatives. Everything that is left out is named with its reason.
"""

from __future__ import annotations

import json
from array import array
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from heapq import merge
from itertools import groupby
from pathlib import Path

from builder.dedup.near_duplicates import among, clusters, links, normal
from builder.dedup.texts import Texts
from builder.edges import shared, tidied
from builder.engine.evidence import categories as story_categories
from builder.export.records import Judged, ReviewRow, TripletRow, triplet_row
from builder.lexicon.categories import Categories
from builder.metrics import Answer
from builder.privacy import masking as privacy
from builder.records import POLARITIES, Element, Review, StoredTriplet, Triplet
from builder.release.manifest import SplitFacts
from builder.release.statistics import Tally
from builder.stages import discriminate, gold
from builder.stages.context import Context
from builder.stages.rounds import lets_in
from builder.stages.splits import disputed
from builder.stages.training import beside
from builder.store import reviews, runs, triplets
from builder.store.queries import public_id
from builder.store.released import Provenance, provenance
from builder.text import hashed, same_script

SPLITS = ("train", "valid", "test")
_FIRST = ("test", "valid", "train")
"""Who stays where two splits hold what only one may."""
KNOWN = 108
"""Bytes of memory of each review that is written: its text's hash, in a set, the name of its split, and its row id."""
Dropped = tuple[str, str, str, int, int | None]
"""(triplet or review as the release names it, reason, detail, row id of the review, row id of the triplet)."""
_UNKNOWN = Provenance()


@dataclass(slots=True)
class Draft:
    """A split on the disk, with what is left out of it: `near` are the lines of reviews that a split which goes first
    has already.

    `ids` are the row ids of the reviews, line by line. `compared` holds, for each review that people labelled, what
    they say and what would have been released of it without them.
    """

    name: str
    path: Path
    ids: array[int] = field(default_factory=lambda: array("q"))
    near: set[int] = field(default_factory=set)
    dropped: list[Dropped] = field(default_factory=list)
    compared: dict[str, tuple[list[Answer], list[Answer]]] = field(default_factory=dict)

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


def drafts(context: Context, folder: Path) -> dict[str, Draft]:
    """Train, valid and test. A text, or a near-duplicate of it once masked, stands in one of them only: in the one
    that comes first.
    """
    labelled = _labelled(context)
    made = {name: Draft(name, folder / f"{name}.draft") for name in _FIRST}
    seen: set[bytes] = set()
    written = (_written(context, made[name], labelled if name == "test" else frozenset(), seen) for name in _FIRST)
    with Texts(normal(text) for texts in written for text in texts) as texts:
        _apart(made, texts)
    return {name: made[name] for name in SPLITS}


def _labelled(context: Context) -> frozenset[str]:
    """Keys of the reviews that people labelled, those without a triplet too."""
    return frozenset(str(row["id"]) for row in gold.rows(context.config.evaluate.gold))


def chosen(context: Context) -> tuple[str, int]:
    """The variant that train comes from, and its last round."""
    variant = context.config.release.train_source or context.config.self_train.variants[0]
    return variant, runs.rounds(context.connection, variant)[-1].round


def split(context: Context, name: str, tally: Tally) -> SplitFacts:
    """What is said of a split by the count of its rows."""
    variant, last = chosen(context)
    count, by_people = tally.counts["reviews"], tally.counts["gold"]
    source = _source(variant, last, name, bool(discriminate.trust(context)))
    if by_people:
        source = "gold" if by_people == count else f"gold, and {source} where there is none"
    found = [one for one, there in (("gold", by_people), ("silver", count - by_people)) if there]
    polarities: dict[str, int] = {polarity: tally.polarities[polarity] for polarity in POLARITIES}
    return SplitFacts(name, source, " and ".join(found) or "silver", count, tally.counts["triplets"], polarities)


def _source(variant: str, last: int, name: str, trusted: bool) -> str:
    """Where the triplets of a split come from."""
    if variant == "E":
        return "rules and panel together" if trusted else "rules"
    judged = ", less what the judge rejects" if variant in "AC" else ""
    return {
        "train": f"last training set of variant {variant} (S_{last})",
        "valid": f"rules{judged}",
        "test": f"rules and last model of variant {variant} together{judged}",
    }[name]


def _written(context: Context, draft: Draft, labelled: frozenset[str], seen: set[bytes]) -> Iterator[str]:
    """Write a split; its texts. What masks made equal to a review that is written already is left out: `seen` has the
    hashes.
    """
    with draft.path.open("wb") as out:
        for i, row in _rows(context, draft, labelled):
            text = hashed(row["text"])
            if text in seen:
                why = "masked, its text equals that of a review released already"
                draft.dropped.append((row["id"], "masked-duplicate", why, i, None))
                continue
            seen.add(text)
            out.write((json.dumps(row, ensure_ascii=False) + "\n").encode())
            draft.ids.append(i)
            yield row["text"]


def _rows(context: Context, draft: Draft, labelled: frozenset[str]) -> Iterator[tuple[int, ReviewRow]]:
    """The reviews of a split by row id."""
    categories = Categories(context.lexicon)
    people = ((True, one) for one in (_people(context, draft.name) if labelled else ()))
    others = ((False, one) for one in _others(context, draft.name))
    everyone = merge(people, others, key=lambda told: told[1].id)
    for review, told in beside(reviews.in_split(context.connection, draft.name), everyone, lambda told: told[1].review):
        by_people = review.key in labelled
        stored = [one for whose, one in told if whose is by_people]
        row, left_out = _row(context, categories, review, "gold" if by_people else "silver", stored)
        draft.dropped += left_out
        if by_people:
            silver, _ = _row(context, categories, review, "silver", [one for whose, one in told if not whose])
            draft.compared[row["id"]] = _answers(row), _answers(silver)
        if row["triplets"] or not (reason := _unfit(context, stored, by_people)):
            yield review.id, row
        else:
            draft.dropped.append((row["id"], *reason, review.id, None))


def _answers(row: ReviewRow) -> list[Answer]:
    return [(one["aspect"]["text"], one["opinion"]["text"], one["polarity"]) for one in row["triplets"]]


def _unfit(context: Context, stored: Sequence[StoredTriplet], by_people: bool) -> tuple[str, str] | None:
    """Why a review whose row has no triplet is no example of a review without one."""
    if stored:
        return "emptied", "all that was found in it was left out, so it is no example of a review without a triplet"
    if not by_people and context.config.release.empty == "drop":
        return "empty", 'no triplet was found in it, and release.empty is "drop"'
    return None


def _people(context: Context, name: str) -> Iterable[StoredTriplet]:
    source = triplets.source_id(context.connection, "gold")
    return triplets.proposed(context.connection, source, name) if source is not None else ()


def _others(context: Context, name: str) -> Iterable[StoredTriplet]:
    """The triplets of rules and models for a split, by id: of valid and test those that the variant would let into
    train.
    """
    connection = context.connection
    variant, last = chosen(context)
    model = triplets.source_id(connection, f"{variant}{last}")
    if variant == "E":
        return triplets.proposed(connection, model, name) if model is not None else ()
    if name == "train":
        return triplets.training(connection, variant, last)
    rules = triplets.source_id(connection, "rules")
    sources = [(rules, 0), *([(model, last)] if name == "test" else [])]
    pool = merge(
        *(_let_in(context, i, variant, number, name) for i, number in sources if i is not None), key=lambda one: one.id
    )
    return (next(same) for _, same in groupby(pool, key=lambda one: one.id))


def _let_in(context: Context, source: int, variant: str, number: int, name: str) -> Iterator[StoredTriplet]:
    """What a source proposes for a split, less what the variant's judge would keep out of train (`number` 0: of the
    rules' triplets).
    """
    judge = triplets.source_id(context.connection, discriminate.NAME)
    for verdict in triplets.judged(context.connection, source, judge or 0, name):
        if verdict.score is None or lets_in(variant, number, verdict):
            yield verdict.stored


def _row(
    context: Context, categories: Categories, review: Review, annotation: str, stored: Sequence[StoredTriplet]
) -> tuple[ReviewRow, list[Dropped]]:
    """A review as it is released, and the triplets that it loses. Where two sources mark one place differently, the
    rules win, then the triplet that stands first.
    """
    masked = privacy.mask(review.text, [review.place] if review.place else [])
    text = masked.in_script(lambda part: same_script(part, context.config.release.script))
    key = public(context, review.key)
    known = provenance(context.connection, review.id) if stored else {}
    kept: list[tuple[Triplet, TripletRow]] = []
    dropped: list[Dropped] = []
    order = sorted(
        stored,
        key=lambda one: (
            "rules" not in known.get(one.id, _UNKNOWN).sources,
            one.triplet.opinion.start,
            one.triplet.aspect.start,
            one.id,
        ),
    )
    for one in order:
        i = f"{key}:{one.id & (1 << triplets.BITS) - 1:08x}"
        sure, least = known.get(one.id, _UNKNOWN).confidence, context.config.release.min_confidence
        if annotation == "silver" and sure is not None and sure < least:
            dropped.append(
                (
                    i,
                    "unsure",
                    f"its confidence is {sure:.2f}, below release.min_confidence {least:g}",
                    review.id,
                    one.id,
                )
            )
            continue
        tidy = tidied(review.text, one.triplet) if annotation == "silver" else one.triplet
        if tidy is None:
            dropped.append(
                (i, "span", "aspect and opinion overlap, or a mark stands inside the aspect", review.id, one.id)
            )
            continue
        moved = _masked(tidy, masked, text)
        if moved is None:
            dropped.append((i, "masked", "it overlaps what privacy masks", review.id, one.id))
            continue
        earlier = next(
            (other for other, _ in kept if shared(other.aspect, moved.aspect) and shared(other.opinion, moved.opinion)),
            None,
        )
        if earlier is None:
            of = known.get(one.id, _UNKNOWN)
            kept.append(
                (moved, triplet_row(i, moved, of.sources, of.rules, _judged(categories, one.triplet, of, annotation)))
            )
        elif (earlier.aspect.spans, earlier.opinion.spans) == (moved.aspect.spans, moved.opinion.spans):
            dropped.append(
                (
                    i,
                    "contradiction",
                    f"the pair is {earlier.polarity} from a source that comes first",
                    review.id,
                    one.id,
                )
            )
        else:
            dropped.append(
                (
                    i,
                    "overlap",
                    f"a source that comes first says {earlier.aspect.text} {earlier.opinion.text}",
                    review.id,
                    one.id,
                )
            )
    listed = sorted((row for _, row in kept), key=lambda row: (row["opinion"]["spans"], row["aspect"]["spans"]))
    row: ReviewRow = {
        "id": key, "text": text, "language": {"traditional": "zh-Hant", "simplified": "zh-Hans"}.get(review.script, "zh"),
        "rating": review.rating, "source": review.source or None, "annotation": annotation,
        "unverified_negative": annotation == "silver" and not listed, "triplets": listed,
    }  # fmt: skip
    return row, dropped


def _judged(categories: Categories, triplet: Triplet, known: Provenance, annotation: str) -> Judged:
    """Confidence, verdict and categories of a triplet. What people labelled needs no confidence; of words that no
    story tells of the lexicon is asked.
    """
    aspect, opinion = story_categories(known.story)
    confidence = None if known.confidence is None or annotation == "gold" else round(known.confidence, 4)
    return Judged(
        confidence,
        known.verdict,
        aspect or categories.aspect(triplet.aspect.text),
        opinion or categories.opinion(triplet.opinion.text),
    )


def public(context: Context, key: str) -> str:
    """A review's id as it is released: its own, or a hash that leads back to no site (release.ids)."""
    return public_id(key) if context.config.release.ids == "hash" else key


def _masked(triplet: Triplet, masked: privacy.Masked, text: str) -> Triplet | None:
    """The triplet over the masked text in its released script; None if a mask covers a part of its opinion, or other
    than a name of its aspect.

    Who is judged may be masked: an aspect in a name becomes the mask of the name, else the review would seem to judge
    nobody there.
    """
    opinions = (*triplet.opinion.spans, *triplet.opinion_full.spans)
    if any(masked.to_masked(span) is None for span in opinions):
        return None

    def move(element: Element) -> Element | None:
        spans = [masked.around(span) for span in element.spans]
        whole = tuple(dict.fromkeys(span for span in spans if span is not None))
        return Element("".join(text[start:end] for start, end in whole), whole) if None not in spans else None

    return triplet.mapped(move)


def _apart(made: Mapping[str, Draft], texts: Sequence[str]) -> None:
    """Mark what is a near-duplicate of a review in a split that goes first. `texts` are normal, in the order of `made`."""
    where = [name for name, draft in made.items() for _ in draft.ids]
    first = {name: where.index(name) for name in set(where)}
    crossing = disputed(clusters(len(texts), links(texts)), enumerate(where))
    gone: set[int] = set()
    for a, b in sorted(among(texts, crossing)):  # in order: a stands in the split that goes first
        if where[a] != where[b] and a not in gone:
            gone.add(b)
    for n in gone:
        made[where[n]].near.add(n - first[where[n]])
