"""What the annotation page sends and shows, as values: labels, polarities and spans. Pure.

In: an answer of the page (JSON). Out: a `Label`, or ValueError for an answer that cannot be.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from itertools import pairwise
from typing import Any

from builder.core.records import POLARITIES, VERDICTS, Candidate, Label, Polarity, PoolReview, Span

Json = dict[str, Any]
_LONGEST_NOTE = 2000


def show_candidate(candidate: Candidate) -> Json:
    """A candidate as the page gets it."""
    t = candidate.triplet
    return {
        "id": candidate.id,
        "aspect": t.aspect.text,
        "opinion": t.opinion.text,
        "polarity": t.polarity,
        "aspect_spans": t.aspect.spans,
        "opinion_spans": t.opinion.spans,
    }


def read_label(answer: Mapping[str, Any], review: PoolReview, candidate: Candidate) -> Label:
    """A label as the page sends it; what repeats the candidate is no correction."""
    note = str(answer.get("note") or "").strip()
    if len(note) > _LONGEST_NOTE:
        raise ValueError(f"a note has at most {_LONGEST_NOTE} characters")
    verdict = None if answer["label"] is None else next((v for v in VERDICTS if v == answer["label"]), None)
    if verdict is None:
        if answer["label"] is not None:
            raise ValueError(f"unknown label {json.dumps(answer['label'])}")
        return Label(None, note=note)
    polarity = (
        None if answer.get("polarity") in (None, candidate.triplet.polarity) else read_polarity(answer["polarity"])
    )
    if verdict == "YY" and polarity is not None:
        raise ValueError("YY says that the polarity is right")
    aspect, opinion = (read_spans(answer.get(name), review.text) for name in ("aspect", "opinion"))
    return Label(
        verdict,
        polarity,
        None if aspect == candidate.triplet.aspect.spans else aspect,
        None if opinion == candidate.triplet.opinion.spans else opinion,
        note,
    )


def read_polarity(given: object) -> Polarity:
    """A polarity as the page sends it. ValueError for another word."""
    polarity = next((known for known in POLARITIES if known == given), None)
    if polarity is None:
        raise ValueError("the polarity is POS, NEG or NEU")
    return polarity


def read_spans(given: Any, text: str) -> tuple[Span, ...] | None:
    """Spans of a text as the page sends them; None for none. ValueError for what is none of the text."""
    if given is None:
        return None
    spans = tuple((int(start), int(end)) for start, end in given)
    if (
        not spans
        or not all(0 <= start < end <= len(text) for start, end in spans)
        or not all(a[1] <= b[0] for a, b in pairwise(spans))
    ):
        raise ValueError(f"no spans of the text: {spans}")
    return spans
