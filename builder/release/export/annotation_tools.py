"""Label Studio, doccano and Argilla: the triplets of reviews for people to look at and correct. Pure, both ways.

In Label Studio and doccano, regions and relations are as `builder.gold.tool_fields` says. A relation with a polarity
leads from the first span of an aspect to the first of its opinion.

Argilla 2 has no relations between spans. So its question `triplets` holds a line for each triplet, with its places:
`餐點@0-2 | 不鹹@2-3,4-5 | POS`. The question `spans` draws the same words. Both are suggestions, for a server takes
responses of its own users only.

What a row says beside places and polarities goes along. A task of Label Studio has it in its `data`, a record of
doccano beside its text. `triplets` names the relation of each.

What comes back is read row by row (`task`, `document`, `record`).
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, cast

from builder.core.records import POLARITIES, Polarity, surface
from builder.gold.items import places
from builder.gold.tool_fields import (
    ASPECT,
    CONTINUES,
    OPINION,
    Json,
    Region,
    Relation,
    asked,
    cut,
    dataset,
    drawn,
    labels_tag,
    pieces,
    read_drawn,
    spans_asked,
    submitted,
    suggested,
)
from builder.release.export.records import Labelled, Spans, TripletLabel, checked, review_details, triplet_details

LABELLING_CONFIG = f"""<View>
  {labels_tag("label", (ASPECT, OPINION))}
  <Relations>
    {"".join(f'<Relation value="{name}"/>' for name in (*POLARITIES, CONTINUES))}
  </Relations>
  <Text name="text" value="$text"/>
</View>
"""
"""What Label Studio wants under Settings, Labeling Interface, before it takes the tasks."""


def _graph(labels: Iterable[TripletLabel]) -> tuple[list[Region], list[Relation]]:
    """Regions, and relations in the order of the labels where they are none of `continues`. An element that several
    triplets share is a single region.
    """
    names: dict[tuple[str, Spans], str] = {}
    regions: list[Region] = []
    relations: list[Relation] = []

    def first(part: str, spans: Spans) -> str:
        if (part, spans) not in names:
            names[part, spans] = f"{part[0].lower()}{len(names)}"
            new, joined = cut(names[part, spans], part, spans)
            regions.extend(new)
            relations.extend(joined)
        return names[part, spans]

    for label in labels:
        relations.append((first(ASPECT, label.aspect), first(OPINION, label.opinion), label.polarity))
    return regions, relations


def _reviewed(name: str, text: str, regions: Iterable[Region], relations: list[Relation]) -> Labelled:
    spans = {i: span for i, _, span in regions}
    element = pieces(relations)

    def labels() -> Iterator[TripletLabel]:
        for a, b, kind in relations:
            if kind != CONTINUES:
                aspect, opinion = (tuple(sorted(spans[i] for i in element(end))) for end in (a, b))
                yield TripletLabel(aspect, opinion, cast(Polarity, kind))

    try:
        return checked(Labelled(name, text, tuple(labels())))
    except KeyError as error:
        raise ValueError(f"review {name}: a relation to {error}, which is not there") from error


# ---- Label Studio


def label_studio(reviews: Iterable[Labelled]) -> str:
    """A JSON array of tasks with predictions, to be imported as it is (the minimal export of Label Studio drops
    relations). The score of a prediction is its least confidence, so that tasks can be sorted by what is least sure;
    without a confidence for each triplet there is no score.
    """
    return json.dumps([_task(review) for review in reviews], ensure_ascii=False, indent=1) + "\n"


def _task(review: Labelled) -> Json:
    regions, relations = _graph(review.labels)
    judged = [(a, b) for a, b, kind in relations if kind != CONTINUES]
    triplets = [
        {"from_id": a, "to_id": b} | triplet_details(label) for (a, b), label in zip(judged, review.labels, strict=True)
    ]
    details = review_details(review) | {"triplets": triplets} if review.row else {}
    prediction: Json = (
        {"model_version": "builder"}
        | _score(review.labels)
        | {"result": drawn(review.text, regions, relations, "label")}
    )
    return {"data": {"id": review.id, "text": review.text} | details, "predictions": [prediction]}


def _score(labels: Iterable[TripletLabel]) -> Json:
    """How sure the least sure label is, if that is known of all."""
    sure = [label.row["confidence"] if label.row else None for label in labels]
    known = [confidence for confidence in sure if confidence is not None]
    return {"score": min(known)} if known and len(known) == len(sure) else {}


def task(row: Mapping[str, Any], number: int = 1) -> Labelled:
    """The review of a task, as its first annotation has it, or else its first prediction."""
    text = row["data"]["text"]
    results: list[Any] = next(
        (versions[0]["result"] for key in ("annotations", "predictions") if (versions := row.get(key))), []
    )
    regions, relations = read_drawn(text, results)
    named = [result["value"]["text"] for result in results if result["type"] == "labels"]
    for (_, _, (start, end)), words in zip(regions, named, strict=True):
        if text[start:end] != words:
            raise ValueError(f"{words!r} is not in the text at {start}-{end}")
    return _reviewed(str(row["data"].get("id", number)), text, regions, relations)


# ---- doccano


def doccano(reviews: Iterable[Labelled]) -> str:
    """JSON lines for a project of sequence labelling with relations. Its ids are numbers, so ours go along as
    `review`.
    """
    return "".join(json.dumps(_record(review), ensure_ascii=False) + "\n" for review in reviews)


def _record(review: Labelled) -> Json:
    regions, relations = _graph(review.labels)
    number = {name: n for n, (name, _, _) in enumerate(regions, start=1)}
    entities = [
        {"id": number[name], "label": kind, "start_offset": start, "end_offset": end}
        for name, kind, (start, end) in regions
    ]
    joined = [
        {"id": n, "from_id": number[a], "to_id": number[b], "type": kind}
        for n, (a, b, kind) in enumerate(relations, start=1)
    ]
    record: Json = {"review": review.id, "text": review.text, "entities": entities, "relations": joined}
    if review.row is None:
        return record
    judged = [relation["id"] for relation in joined if relation["type"] != CONTINUES]
    triplets = [{"relation": n} | triplet_details(label) for n, label in zip(judged, review.labels, strict=True)]
    return record | review_details(review) | {"triplets": triplets}


def document(row: Mapping[str, Any], number: int = 1) -> Labelled:
    """The review of a record of doccano."""
    regions = [
        (str(one["id"]), str(one["label"]), (int(one["start_offset"]), int(one["end_offset"])))
        for one in row["entities"]
    ]
    relations = [(str(edge["from_id"]), str(edge["to_id"]), edge["type"]) for edge in row["relations"]]
    return _reviewed(str(row.get("review", row.get("id", number))), row["text"], regions, relations)


# ---- Argilla

AGENT = "builder"
_PLACES = r"\d+-\d+(?:,\d+-\d+)*"
# The first places end the aspect for good: with another try for each `@` a long line would take hours.
_LINE = re.compile(rf"(?:(?!@{_PLACES} \| ).)*+@({_PLACES}) \| .*@({_PLACES}) \| (\w+)", re.S)
_ASKED = "One a line: aspect@start-end | opinion@start-end | POS, NEG or NEU. Blank if there is none."
SETTINGS = (
    json.dumps(
        dataset(
            "Correct the triplets of each review.",
            [asked("text", "Review", "text")],
            [spans_asked("Aspects and opinions"), asked("triplets", "Triplets", "text", _ASKED)],
            ("review",),
        ),
        ensure_ascii=False,
        indent=1,
    )
    + "\n"
)
"""The field, the questions and the filter of a dataset that takes these records."""


def argilla(reviews: Iterable[Labelled]) -> str:
    """A JSON list of records."""
    return json.dumps([_suggesting(review) for review in reviews], ensure_ascii=False, indent=1) + "\n"


def _suggesting(review: Labelled) -> Json:
    parts = dict.fromkeys(
        (start, end, name)
        for label in review.labels
        for name, spans in (("aspect", label.aspect), ("opinion", label.opinion))
        for start, end in spans
    )
    spans = [{"start": start, "end": end, "label": name} for start, end, name in sorted(parts)]
    lines = "\n".join(_line(review.text, label) for label in review.labels)
    answers = {"spans": spans, "triplets": lines} if lines else {}
    return {
        "id": review.id,
        "fields": {"text": review.text},
        "metadata": {"review": review.id},
        "suggestions": {name: suggested(value, AGENT) for name, value in answers.items()},
        "responses": {},
        "vectors": {},
    }


def _line(text: str, label: TripletLabel) -> str:
    """Line breaks inside of words are blanks here, for a line is a triplet; the places say what is meant."""
    parts = [" ".join(surface(text, spans).split()) + "@" + places(spans) for spans in (label.aspect, label.opinion)]
    return " | ".join([*parts, label.polarity])


def record(row: Mapping[str, Any]) -> Labelled:
    """The review of a record: with the triplets that it suggests, or in a row of `to_list(flatten=True)` with those
    that the first of its users submitted.
    """
    if "triplets.responses" in row:
        name, text, users = row["review"], row["text"], submitted(row, ("triplets",))
        lines = users[min(users)]["triplets"] if users else (row.get("triplets.suggestion") or "")
    else:
        name, text = row["id"], row["fields"]["text"]
        lines = (row["suggestions"].get("triplets") or {"value": ""})["value"]
    return checked(Labelled(str(name), text, tuple(map(_label, filter(str.strip, lines.splitlines())))))


def _label(line: str) -> TripletLabel:
    if not (match := _LINE.fullmatch(line)):
        raise ValueError(f"no triplet: {line!r}")
    aspect, opinion, polarity = match.groups()
    return TripletLabel(_spans(aspect), _spans(opinion), cast(Polarity, polarity))


def _spans(given: str) -> Spans:
    return tuple((int(start), int(end)) for start, end in (place.split("-") for place in given.split(",")))
