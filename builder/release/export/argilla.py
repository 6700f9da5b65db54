"""Argilla 2: a record for each review, whose triplets are suggested to people. Pure, both ways.

It has no relations between spans. So its question `triplets` holds a line for each triplet, with its places:
`餐點@0-2 | 不鹹@2-3,4-5 | POS`. The question `spans` draws the same words. Both are suggestions, for a server takes
responses of its own users only.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping
from typing import Any, cast

from builder.core.records import Polarity, surface
from builder.gold.items import places
from builder.release.export.native_rows import Labelled, Spans, TripletLabel, checked

_PLACES = r"\d+-\d+(?:,\d+-\d+)*"
# The first places end the aspect for good: with another try for each `@` a long line would take hours.
_LINE = re.compile(rf"(?:(?!@{_PLACES} \| ).)*+@({_PLACES}) \| .*@({_PLACES}) \| (\w+)", re.S)
_ASKED = "One a line: aspect@start-end | opinion@start-end | POS, NEG or NEU. Blank if there is none."
_SPANS = {
    "type": "span", "field": "text", "allow_overlapping": True,
    "options": [{"value": part, "text": part.capitalize()} for part in ("aspect", "opinion")],
}  # fmt: skip
_DATASET = {
    "guidelines": "Correct the triplets of each review.",
    "fields": [{"name": "text", "title": "Review", "required": True, "settings": {"type": "text"}}],
    "questions": [
        {"name": "spans", "title": "Aspects and opinions", "required": False, "settings": _SPANS},
        {"name": "triplets", "title": "Triplets", "description": _ASKED, "required": True,
         "settings": {"type": "text"}},
    ],
    "metadata": [{"name": "review", "title": "review", "settings": {"type": "terms"}}],
    "allow_extra_metadata": True,
}  # fmt: skip
SETTINGS = json.dumps(_DATASET, ensure_ascii=False, indent=1) + "\n"
"""The field, the questions and the filter of a dataset that takes these records."""


def write_records(reviews: Iterable[Labelled]) -> str:
    """A JSON list of records."""
    return json.dumps([_suggest(review) for review in reviews], ensure_ascii=False, indent=1) + "\n"


def _suggest(review: Labelled) -> dict[str, Any]:
    parts = {
        (start, end, name)
        for label in review.labels
        for name, spans in (("aspect", label.aspect), ("opinion", label.opinion))
        for start, end in spans
    }
    spans = [{"start": start, "end": end, "label": name} for start, end, name in sorted(parts)]
    lines = "\n".join(_write_line(review.text, label) for label in review.labels)
    answers = {"spans": spans, "triplets": lines} if lines else {}
    return {
        "id": review.id,
        "fields": {"text": review.text},
        "metadata": {"review": review.id},
        "suggestions": {name: {"value": value, "agent": "builder", "score": None} for name, value in answers.items()},
        "responses": {},
        "vectors": {},
    }


def _write_line(text: str, label: TripletLabel) -> str:
    """Line breaks inside of words are blanks here, for a line is a triplet; the places say what is meant."""
    parts = [" ".join(surface(text, spans).split()) + "@" + places(spans) for spans in (label.aspect, label.opinion)]
    return " | ".join([*parts, label.polarity])


def read_record(row: Mapping[str, Any]) -> Labelled:
    """The review of a record: with the triplets that it suggests, or in a row of `to_list(flatten=True)` with those
    that the first of its users submitted. Drafts are no labels.
    """
    if row.get("responses"):
        raise ValueError("this does not say which answers were submitted; give `records.to_list(flatten=True)`")
    if "triplets.suggestion" in row:
        columns = [row.get(f"triplets.responses{part}") or [] for part in ("", ".users", ".status")]
        users = {str(user): value or "" for value, user, status in zip(*columns, strict=True) if status == "submitted"}
        name, text = row["review"], row["text"]
        lines = users[min(users)] if users else (row.get("triplets.suggestion") or "")
    else:
        name, text = row["id"], row["fields"]["text"]
        lines = (row["suggestions"].get("triplets") or {"value": ""})["value"]
    return checked(Labelled(str(name), text, tuple(map(_read_line, filter(str.strip, lines.splitlines())))))


def _read_line(line: str) -> TripletLabel:
    if not (match := _LINE.fullmatch(line)):
        raise ValueError(f"no triplet: {line!r}")
    aspect, opinion, polarity = match.groups()
    return TripletLabel(_read_spans(aspect), _read_spans(opinion), cast(Polarity, polarity))


def _read_spans(given: str) -> Spans:
    return tuple((int(start), int(end)) for start, end in (place.split("-") for place in given.split(",")))
