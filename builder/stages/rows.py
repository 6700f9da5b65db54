"""What a release says of each review: which triplets (Table 7 of the paper), masked, in the wanted script, one opinion of one place once.

Train comes from the last training set of the chosen variant, valid from the rules, test from people where they labelled it, else from the
pool: the union of rules and last model. Everything that is left out is named with its reason.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from builder import privacy
from builder.export.manifest import Split
from builder.export.near_duplicates import among, clusters, links, normal
from builder.export.records import ReviewRow, TripletRow, triplet_row
from builder.records import POLARITIES, Element, Review, StoredTriplet, Triplet
from builder.stages import gold
from builder.stages.context import Context
from builder.stages.splits import disputed
from builder.store import reviews, runs, triplets
from builder.store.queries import public_id
from builder.text import same_script

SPLITS = ("train", "valid", "test")
_FIRST = ("test", "valid", "train")
"""Who stays where two splits hold what only one may."""
Dropped = tuple[str, str, str]
"""(triplet or review, reason, detail)."""
By = Mapping[int, Sequence[StoredTriplet]]


@dataclass(frozen=True, slots=True)
class Made:
    """A split ready to be written, and what was left out of it."""

    split: Split
    rows: list[ReviewRow]
    dropped: list[Dropped]


@dataclass(frozen=True, slots=True)
class _Proposals:
    """Who says what: names of the sources and the rule of each triplet id; `place` is where the release is made."""

    context: Context
    names: Mapping[int, tuple[str, ...]]
    rules: Mapping[int, str]


def splits(context: Context) -> list[Made]:
    """Train, valid and test. A text, or a near-duplicate of it once masked, stands in one of them only: in the one that comes first."""
    told = _Proposals(context, triplets.names(context.connection), triplets.rule_names(context.connection))
    labelled = _labelled(context)
    dropped: dict[str, list[Dropped]] = {name: [] for name in SPLITS}
    rows = {name: list(_rows(told, name, labelled if name == "test" else frozenset(), dropped[name])) for name in _FIRST}
    _apart(rows, dropped)
    return [_made(context, name, rows[name], dropped[name]) for name in SPLITS]


def _labelled(context: Context) -> frozenset[str]:
    """Keys of the reviews that people labelled, those without a triplet too."""
    return frozenset(str(row["id"]) for row in gold.rows(context.config.evaluate.gold))


def chosen(context: Context) -> tuple[str, int]:
    """The variant that train comes from, and its last round."""
    variant = context.config.release.train_source or context.config.self_train.variants[0]
    return variant, runs.rounds(context.connection, variant)[-1].round


def _made(context: Context, name: str, rows: list[ReviewRow], dropped: list[Dropped]) -> Made:
    variant, last = chosen(context)
    pool = f"union of rules and self-train-{variant}"
    found = {row["annotation"] for row in rows}
    source = {"train": f"self-train-{variant} S_{last}", "valid": "rules", "test": pool}[name]
    if "gold" in found:
        source = "gold" if found == {"gold"} else f"gold, and {pool} where there is none"
    listed = [one for row in rows for one in row["triplets"]]
    polarities: dict[str, int] = {polarity: sum(one["polarity"] == polarity for one in listed) for polarity in POLARITIES}
    return Made(Split(name, source, " and ".join(sorted(found)) or "silver", len(rows), len(listed), polarities), rows, dropped)


def _rows(told: _Proposals, name: str, labelled: frozenset[str], dropped: list[Dropped]) -> Iterator[ReviewRow]:
    by_people, by_others = _people(told.context, name) if labelled else {}, _others(told.context, name)
    for review in reviews.in_split(told.context.connection, name):
        annotation = "gold" if review.key in labelled else "silver"
        stored = (by_people if annotation == "gold" else by_others).get(review.id, [])
        row = _row(told, review, annotation, stored, dropped)
        if row["triplets"] or annotation == "gold":
            yield row


def _people(context: Context, name: str) -> By:
    source = triplets.source_id(context.connection, "gold")
    return _grouped(triplets.proposed(context.connection, source, name)) if source is not None else {}


def _others(context: Context, name: str) -> By:
    """The triplets of rules and models for a split, as Table 7 has them."""
    connection = context.connection
    variant, last = chosen(context)
    if name == "train":
        return _grouped(triplets.training(connection, variant, last))
    sources = ["rules"] if name == "valid" else ["rules", f"{variant}{last}"]
    known = [i for one in sources if (i := triplets.source_id(connection, one)) is not None]
    everyone = {one.id: one for i in known for one in triplets.proposed(connection, i, name)}
    return _grouped(everyone[i] for i in sorted(everyone))


def _grouped(stored: Iterable[StoredTriplet]) -> By:
    grouped: dict[int, list[StoredTriplet]] = {}
    for one in stored:
        grouped.setdefault(one.review, []).append(one)
    return grouped


def _row(told: _Proposals, review: Review, annotation: str, stored: Sequence[StoredTriplet], dropped: list[Dropped]) -> ReviewRow:
    """A review as it is released. Where two sources mark one place differently, the rules win, then the triplet that stands first."""
    masked = privacy.mask(review.text, [review.place] if review.place else [])
    text = masked.in_script(lambda part: same_script(part, told.context.config.release.script))
    key = public(told.context, review.key)
    kept: list[tuple[Triplet, TripletRow]] = []
    order = sorted(
        stored, key=lambda one: ("rules" not in told.names.get(one.id, ()), one.triplet.opinion.start, one.triplet.aspect.start, one.id)
    )
    for one in order:
        i = f"{key}:{one.id & (1 << triplets.BITS) - 1:08x}"
        moved = _masked(one.triplet, masked, text)
        if moved is None:
            dropped.append((i, "masked", "it overlaps what privacy masks"))
            continue
        earlier = next((other for other, _ in kept if overlap(other.aspect, moved.aspect) and overlap(other.opinion, moved.opinion)), None)
        if earlier is None:
            kept.append((moved, triplet_row(i, moved, told.names.get(one.id, ()), tuple(filter(None, [told.rules.get(one.id)])))))
        elif (earlier.aspect.spans, earlier.opinion.spans) == (moved.aspect.spans, moved.opinion.spans):
            dropped.append((i, "contradiction", f"the pair is {earlier.polarity} from a source that comes first"))
        else:
            dropped.append((i, "overlap", f"a source that comes first says {earlier.aspect.text} {earlier.opinion.text}"))
    listed = sorted((row for _, row in kept), key=lambda row: (row["opinion"]["spans"], row["aspect"]["spans"]))
    return {
        "id": key, "text": text, "language": {"traditional": "zh-Hant", "simplified": "zh-Hans"}.get(review.script, "zh"),
        "rating": review.rating, "annotation": annotation, "triplets": listed,
    }  # fmt: skip


def public(context: Context, key: str) -> str:
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


def _apart(rows: dict[str, list[ReviewRow]], dropped: Mapping[str, list[Dropped]]) -> None:
    """Leave out what masks made equal to another review, anywhere, or a near-duplicate of one in another split."""
    seen: set[str] = set()
    for name in _FIRST:
        kept = []
        for row in rows[name]:
            if row["text"] in seen:
                dropped[name].append((row["id"], "masked-duplicate", "masked, its text equals that of a review released already"))
            else:
                seen.add(row["text"])
                kept.append(row)
        rows[name] = kept
    where = [(name, row["id"]) for name in _FIRST for row in rows[name]]
    gone: set[int] = set()
    texts = [normal(row["text"]) for name in _FIRST for row in rows[name]]
    crossing = disputed(clusters(len(texts), links(texts)), {n: name for n, (name, _) in enumerate(where)})
    for a, b in sorted(among(texts, crossing)):  # in order: a stands in the split that goes first
        if where[a][0] != where[b][0] and a not in gone:
            gone.add(b)
    for name in _FIRST:
        out = {i for n, (split, i) in enumerate(where) if n in gone and split == name}
        dropped[name] += [(i, "near-duplicate", "it is a near-duplicate of a review in another split") for i in sorted(out)]
        rows[name] = [row for row in rows[name] if row["id"] not in out]
