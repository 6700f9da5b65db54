"""One review as a release shows it: repaired, masked, in the wanted script, one opinion of one place once.

In: a review and its stored triplets. Out: its row, and every triplet that it loses with the reason.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from builder.core.edges import shared, tidied
from builder.core.records import Element, Review, StoredTriplet, Triplet
from builder.engine.reader import to_view
from builder.language.lexicon.categories import Categories
from builder.pipeline import judging
from builder.pipeline.context import Context
from builder.release.export.records import Judged, ReviewRow, TripletRow, triplet_row
from builder.reviews.privacy import masking as privacy
from builder.reviews.script import language_tag, same_script
from builder.reviews.text import read_part, repaired_view
from builder.store import triplet_rows
from builder.store.queries import public_id
from builder.store.released import Provenance, provenance
from builder.store.reviews import Rejection

_UNKNOWN = Provenance()
_UNSEEN = "span", "a part of it is nothing that is seen"
_Kept = list[tuple[Triplet, TripletRow]]


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
    for candidate in sorted(stored, key=lambda triplet: _precedence(triplet, known)):
        origin = known.get(candidate.id, _UNKNOWN)
        id_ = f"{key}:{candidate.id & (1 << triplet_rows.BITS) - 1:08x}"
        doubt = None if labelled else _doubt(context, origin)
        found = candidate.triplet if shown.text == review.text else to_view(candidate.triplet, shown)
        released = doubt or (_release(shown.text, found, annotation, masked, text) if found else _UNSEEN)
        reason = released if isinstance(released, tuple) else _conflict(kept, released)
        if reason is not None:
            decided = _decision(context, origin) if reason is doubt else (None, None, None)
            dropped.append(Rejection(id_, *reason, review.id, candidate.id, *decided))
        elif isinstance(released, Triplet):
            judged = _judgement(categories, found or candidate.triplet, origin, annotation)
            kept.append((released, triplet_row(id_, released, origin.sources, origin.rules, judged)))
    rows = sorted((row for _, row in kept), key=lambda row: (row["opinion"]["spans"], row["aspect"]["spans"]))
    row: ReviewRow = {
        "id": key, "text": text, "language": _language(context, review),
        "rating": review.rating, "source": review.source or None, "annotation": annotation,
        "unverified_negative": annotation == "silver" and not rows, "triplets": rows,
    }  # fmt: skip
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


def _decision(context: Context, origin: Provenance) -> tuple[str, float | None, float]:
    """Whose confidence made a triplet doubtful, that, and the limit."""
    return judging.NAME, origin.confidence, context.config.release.min_confidence


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


def _judgement(categories: Categories, triplet: Triplet, known: Provenance, annotation: str) -> Judged:
    """Confidence, verdict and categories of a triplet.

    What people labelled needs no confidence. A category that the rule did not record comes from the lexicon.
    """
    confidence = None if known.confidence is None or annotation == "gold" else round(known.confidence, 4)
    return Judged(
        confidence,
        known.verdict,
        known.aspect_category or categories.aspect(triplet.aspect.text),
        known.opinion_category or categories.opinion(triplet.opinion.text),
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
        spans = [masked.judged(span) for span in element.spans]
        whole = tuple(dict.fromkeys(span for span in spans if span is not None))
        return Element("".join(text[start:end] for start, end in whole), whole) if None not in spans else None

    return triplet.mapped(move)
