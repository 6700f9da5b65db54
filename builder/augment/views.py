"""What of a release's review a method sees: sentences with marks; and back: a candidate as a row of an augmentation
layer. And the words of sentences, by the embedded segmenter.

A review is cut into sentences, but never inside a triplet. A sentence that the view cannot show is left out with a
reason.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import pairwise
from typing import Any, Literal, cast

from builder.augment.candidates import Changed, Mark, Sentence, moved, replaced, stretched
from builder.augment.constraints import Trial
from builder.core.records import Polarity, Span
from builder.engine.reader import Reader, Recipe, make_reader
from builder.language.lexicon.folders import SHIPPED, Folders
from builder.release.augmentation_layers import AspectRow, LayerRow
from builder.release.export.native_rows import ElementRow, ReviewRow, TripletRow
from builder.reviews.text import clauses, sentences

View = Literal["triplets", "ate", "aspect", "sentence"]
Keep = Literal["aspect", "aspect+opinion"]
_PAGE = 256
PARTS = ("aspect", "aspect_full", "opinion", "opinion_full")


@dataclass(frozen=True, slots=True)
class ViewUnit:
    """A sentence and where it comes from: [start, end) of a review's text, and the triplets that stand there."""

    sentence: Sentence
    row: ReviewRow
    start: int
    end: int
    triplets: tuple[TripletRow, ...]


Skipped = tuple[str, str]
"""(sentence id, reason)"""


def units(row: ReviewRow, view: View, keep: Keep) -> Iterator[ViewUnit | Skipped]:
    """The sentences of a review for a view, without their words, or why not."""
    for start, end in parts(row):
        held = tuple(triplet for triplet in row["triplets"] if start <= triplet["aspect"]["spans"][0][0] < end)
        name = f"{row['id']}:{start}-{end}"
        if not held:
            yield name, "no-label"
            continue
        for i, marks, label in _marked(held, start, view, keep):
            if isinstance(marks, str):
                yield f"{name}{i}", marks
                continue
            yield ViewUnit(
                Sentence(f"{name}{i}", row["text"][start:end], (), marks, label, "zh"), row, start, end, held
            )


def parts(row: ReviewRow) -> list[Span]:
    """The sentences of a review with the marks that end them; those that a triplet joins are one."""
    text = row["text"]
    starts = [start for start, _ in sentences(clauses(text))]
    cuts = set(starts[1:])
    for triplet in row["triplets"]:
        elements = [triplet["aspect"], triplet["aspect_full"], triplet["opinion"], triplet["opinion_full"]]
        spans = [span for element in (*elements, triplet["owner"]) if element for span in element["spans"]]
        first, last = min(start for start, _ in spans), max(end for _, end in spans)
        cuts -= {cut for cut in cuts if first < cut < last}
    edges = [0, *sorted(cuts), len(text)]
    return [(a, a + len(text[a:b].rstrip())) for a, b in pairwise(edges) if text[a:b].strip()]


def _marked(
    held: Sequence[TripletRow], start: int, view: View, keep: Keep
) -> Iterator[tuple[str, tuple[Mark, ...] | str, str | None]]:
    """(end of the id, marks or why there are none, label) of each sentence that a view makes of one."""
    if view == "triplets":
        yield "", _merged(_all(held, start, keep="aspect+opinion", polarities=True)), None
    elif view == "ate":
        spans = _all(held, start, keep, polarities=False)
        yield "", _disjoint(spans) if keep == "aspect" else _merged(spans), None
    elif view == "sentence":
        yield "", *_agreed(held, _merged(_all(held, start, keep, polarities=False)))
    else:
        marks = _merged(_all(held, start, keep, polarities=True))
        for at in sorted({triplet["aspect"]["spans"][0][0] for triplet in held}):
            yield f"@{at}", *_agreed([triplet for triplet in held if triplet["aspect"]["spans"][0][0] == at], marks)


def _agreed(held: Sequence[TripletRow], marks: tuple[Mark, ...] | str) -> tuple[tuple[Mark, ...] | str, str | None]:
    """Marks and the one polarity of some triplets; a reason where they have several."""
    polarities = {triplet["polarity"] for triplet in held}
    return ("mixed-polarity", None) if len(polarities) > 1 else (marks, polarities.pop())


def _all(held: Sequence[TripletRow], start: int, keep: Keep, polarities: bool) -> list[Mark]:
    """The spans that are kept. An opinion is kept with what stands inside its phrase (the 太 of 不會太鹹)."""
    out: list[Mark] = []
    for triplet in held:
        polarity: Polarity | None = triplet["polarity"] if polarities else None
        aspects = [(a, b) for a, b in triplet["aspect"]["spans"]]
        out += [Mark(a - start, b - start, "aspect", polarity) for a, b in aspects]
        if keep == "aspect+opinion":
            spans = [(a, b) for part in (triplet["opinion"], triplet["opinion_full"]) for a, b in part["spans"]]
            hull = min(a for a, _ in spans), max(b for _, b in spans)
            if any(a < hull[1] and hull[0] < b for a, b in aspects):
                hulls = [(a, b) for a, b in triplet["opinion"]["spans"]]
            else:
                hulls = [hull]
            out += [Mark(a - start, b - start, "opinion", polarity) for a, b in hulls]
    return out


def _merged(marks: Iterable[Mark]) -> tuple[Mark, ...] | str:
    """Marks in order; those of one kind that overlap are one. Of two kinds: a reason."""
    out: list[Mark] = []
    for mark in sorted(set(marks), key=lambda mark: (mark.start, mark.end)):
        if out and mark.start < out[-1].end:
            if out[-1].kind != mark.kind:
                return "overlapping-labels"
            polarity = mark.polarity if mark.polarity == out[-1].polarity else None
            out[-1] = Mark(out[-1].start, max(out[-1].end, mark.end), mark.kind, polarity)
        else:
            out.append(mark)
    return tuple(out)


def _disjoint(marks: Iterable[Mark]) -> tuple[Mark, ...] | str:
    """Marks in order, each once; a reason where two overlap: BIO could not show both."""
    out = sorted(set(marks), key=lambda mark: (mark.start, mark.end))
    return "overlapping-labels" if any(a.end > b.start for a, b in pairwise(out)) else tuple(out)


def cut(words: Iterable[Span], marks: Sequence[Mark]) -> Iterator[Span]:
    """Words cut where a mark begins or ends, so that a mark is made of whole words."""
    edges = sorted({edge for mark in marks for edge in (mark.start, mark.end)})
    for start, end in words:
        inner = [edge for edge in edges if start < edge < end]
        yield from pairwise([start, *inner, end])


def layer_row(unit: ViewUnit, trial: Trial, view: View, layer: str, method: str) -> LayerRow | str:
    """A kept candidate as a row of a layer; a reason code where a part of a triplet cannot be followed."""
    edits = trial.candidate.edits
    i = f"{unit.sentence.id}+{layer}:{hashlib.sha256(trial.text.encode('utf-8', 'surrogatepass')).hexdigest()[:8]}"
    label = trial.candidate.label or unit.sentence.label
    triplets: list[TripletRow] = []
    aspects: list[AspectRow] = []
    if view == "triplets":
        for triplet in unit.triplets:
            carried = _triplet(unit, trial, triplet, i, method)
            if carried is None:
                return "phrase-broken"
            triplets.append(carried)
    else:
        aspects = [
            {
                "text": trial.text[mark.start : mark.end],
                "spans": [[mark.start, mark.end]],
                "polarity": _polarity(unit, before, view, label),
            }
            for mark, before in zip(trial.marks, unit.sentence.marks, strict=True)
            if mark is not None and mark.kind == "aspect"
        ]
    return {
        "id": i,
        "text": trial.text,
        "language": unit.row["language"],
        "rating": None,
        "source": unit.row["source"],
        "annotation": layer,
        "unverified_negative": False,
        "triplets": sorted(triplets, key=lambda row: (row["opinion"]["spans"], row["aspect"]["spans"])),
        "view": view,
        "method": method,
        "source_id": unit.row["id"],
        "source_span": [unit.start, unit.end],
        "edits": [
            {"start": edit.start + unit.start, "end": edit.end + unit.start, "text": edit.text} for edit in edits
        ],
        "aspects": aspects,
        "label": label,
        "score": trial.candidate.score,
    }


def _polarity(unit: ViewUnit, before: Mark, view: View, label: str | None) -> str | None:
    """The polarity of an aspect in the view `aspect`: the judged one's label, the others' own."""
    if view != "aspect":
        return None
    judged = int(unit.sentence.id.rpartition("@")[2]) - unit.start
    return label if before.start <= judged < before.end else before.polarity


def _triplet(unit: ViewUnit, trial: Trial, before: TripletRow, row: str, method: str) -> TripletRow | None:
    """A triplet after the edits, None where a span is lost; a changed mark brings its polarity and valence."""
    moved_parts: dict[str, ElementRow | None] = {"owner": None}
    elements: dict[str, ElementRow | None] = {part: cast(Any, before)[part] for part in (*PARTS, "owner")}
    for part, element in elements.items():
        if element is not None:
            place = _element(unit, trial, element, stretch=part not in ("aspect", "opinion"))
            if place is None:
                return None
            moved_parts[part] = place
    polarity, valence = before["polarity"], before["valence"]
    for first in (before["opinion"], before["aspect"]):
        start, end = first["spans"][0]
        if changed := _changed(trial, (start - unit.start, end - unit.start)):
            polarity, valence = changed.polarity, changed.valence
            break
    same = polarity == before["polarity"]
    changes = {
        "id": f"{row}:{before['id'].rpartition(':')[2]}", "polarity": polarity, "valence": valence,
        "sources": [*before["sources"], method], "confidence": None, "verdict": None,
        "opinion_category": before["opinion_category"] if same else None,
    }  # fmt: skip
    return cast(TripletRow, {**before, **moved_parts, **changes})


def _element(unit: ViewUnit, trial: Trial, row: ElementRow, stretch: bool = False) -> ElementRow | None:
    spans: list[list[int]] = []
    for start, end in row["spans"]:
        place = _place(unit, trial, (start - unit.start, end - unit.start), stretch)
        if place is None:
            return None
        if list(place) not in spans:  # new words in place of a mark are one span, whatever it had
            spans.append(list(place))
    return {"text": "".join(trial.text[a:b] for a, b in spans), "spans": spans}


def _place(unit: ViewUnit, trial: Trial, span: Span, stretch: bool) -> Span | None:
    """Where a span stands: in a mark whose words the method changed, at the new ones; else by arithmetic."""
    changed = _changed(trial, span)
    if changed and changed.text != unit.sentence.text[changed.start : changed.end]:
        return replaced((changed.start, changed.end), trial.candidate.edits)
    return stretched(span, trial.candidate.edits) if stretch else moved(span, trial.candidate.edits)


def _changed(trial: Trial, span: Span) -> Changed | None:
    """What the method made of the mark that holds a span, if it made something of it."""
    return next(
        (change for change in trial.candidate.changed if change.start <= span[0] and span[1] <= change.end), None
    )


# ---- Words


@lru_cache(maxsize=2)
def cached_reader(folders: Folders = SHIPPED) -> Reader:
    """The shipped reader, or one with the words and rules of `folders`; loaded once."""
    return make_reader(Recipe(folders=folders))


def segmented(sentences: Sequence[Sentence], folders: Folders = SHIPPED) -> list[Sentence]:
    """Chinese sentences with the words of the embedded segmenter, cut at the marks, whatever words they had."""
    segments = _segments(tuple(sentence.text for sentence in sentences), folders)
    return [
        replace(sentence, words=tuple(cut(words, sentence.marks)))
        for sentence, words in zip(sentences, segments, strict=True)
    ]


@lru_cache(maxsize=2)
def _segments(texts: tuple[str, ...], folders: Folders) -> list[list[Span]]:
    """The words of each text, by place; a page of texts is read at a time."""
    pages = (texts[at : at + _PAGE] for at in range(0, len(texts), _PAGE))
    return [
        [
            (place.start, place.end)
            for token, place in zip(reading.tokens, reading.text_tokens, strict=True)
            if not reading.view.text[token.start : token.end].isspace()
        ]
        for page in pages
        for reading in cached_reader(folders).read(page)
    ]
