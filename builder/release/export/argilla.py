"""Argilla 2: a JSON list of records, one a review, as `Dataset.records.from_json` reads; beside it the settings of
their dataset, as `Settings.from_json` reads. Offsets are code points.

Argilla has no relations between spans. So the question `triplets` holds a line for each triplet, with its places:
`餐點@0-2 | 不鹹@2-3,4-5 | POS`; the question `spans` draws the same words. Both are suggestions, for a server takes
responses of its own users only. Pure, both ways.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from typing import Any, cast

from builder.core.files import parse_json
from builder.core.records import Polarity
from builder.release.export.records import Labelled, Spans, TripletLabel, checked, surface

AGENT = "builder"
_PLACES = r"\d+-\d+(?:,\d+-\d+)*"
# The first places end the aspect for good: with another try for each `@` a long line would take hours.
_LINE = re.compile(rf"(?:(?!@{_PLACES} \| ).)*+@({_PLACES}) \| .*@({_PLACES}) \| (\w+)", re.S)


def _asked(name: str, title: str, description: str | None = None, **kind: Any) -> dict[str, Any]:
    return {
        "name": name, "title": title, "description": description, "required": name != "spans", "settings": kind,
    }  # fmt: skip


def _settings() -> dict[str, Any]:
    options = [{"value": name, "text": name.capitalize()} for name in ("aspect", "opinion")]
    lines = "One a line: aspect@start-end | opinion@start-end | POS, NEG or NEU. Blank if there is none."
    return {
        "guidelines": "Correct the triplets of each review.",
        "fields": [_asked("text", "Review", type="text")],
        "questions": [
            _asked("spans", "Aspects and opinions", type="span", field="text", allow_overlapping=True, options=options),
            _asked("triplets", "Triplets", lines, type="text"),
        ],
        "metadata": [{"name": "review", "title": "review", "settings": {"type": "terms"}}],
        "allow_extra_metadata": True,
    }


SETTINGS = json.dumps(_settings(), ensure_ascii=False, indent=1) + "\n"
"""The field, the questions and the filter of a dataset that takes these records."""


def argilla(reviews: Iterable[Labelled]) -> str:
    """A JSON list of records."""
    return json.dumps([_record(review) for review in reviews], ensure_ascii=False, indent=1) + "\n"


def _record(review: Labelled) -> dict[str, Any]:
    drawn = dict.fromkeys(
        (start, end, name)
        for label in review.labels
        for name, spans in (("aspect", label.aspect), ("opinion", label.opinion))
        for start, end in spans
    )
    spans = [{"start": start, "end": end, "label": name} for start, end, name in sorted(drawn)]
    lines = "\n".join(_line(review.text, label) for label in review.labels)
    suggested = {"spans": spans, "triplets": lines} if lines else {}
    return {
        "id": review.id,
        "fields": {"text": review.text},
        "metadata": {"review": review.id},
        "suggestions": {name: {"value": value, "agent": AGENT, "score": None} for name, value in suggested.items()},
        "responses": {},
        "vectors": {},
    }


def _line(text: str, label: TripletLabel) -> str:
    """Line breaks inside of words are blanks here, for a line is a triplet; the places say what is meant."""
    parts = [" ".join(surface(text, spans).split()) + "@" + _places(spans) for spans in (label.aspect, label.opinion)]
    return " | ".join([*parts, label.polarity])


def _places(spans: Spans) -> str:
    return ",".join(f"{start}-{end}" for start, end in spans)


def read_argilla(content: str) -> list[Labelled]:
    """Records with their suggested triplets. ValueError for a line that is none."""
    return [
        checked(
            Labelled(
                str(record["id"]),
                record["fields"]["text"],
                tuple(map(_label, (record["suggestions"].get("triplets") or {"value": ""})["value"].splitlines())),
            )
        )
        for record in parse_json(content)
    ]


def _label(line: str) -> TripletLabel:
    if not (match := _LINE.fullmatch(line)):
        raise ValueError(f"no triplet: {line!r}")
    aspect, opinion, polarity = match.groups()
    return TripletLabel(_spans(aspect), _spans(opinion), cast(Polarity, polarity))


def _spans(places: str) -> Spans:
    return tuple((int(start), int(end)) for start, end in (place.split("-") for place in places.split(",")))
