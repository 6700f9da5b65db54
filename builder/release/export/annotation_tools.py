"""Label Studio and doccano: spans and relations for people to look at and correct. Pure, both ways.

An element that is interrupted is several spans, joined by relations `continues`; a relation with a polarity leads
from the first span of an aspect to the first of its opinion. Label Studio counts UTF-16 units, as its editor does;
doccano counts code points.

What a row says beside places and polarities goes along: with a task of Label Studio in its `data`, with a record of
doccano beside its text. `triplets` names the relation of each.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from itertools import accumulate
from typing import Any

from builder.core.files import parse_json
from builder.core.records import POLARITIES, Polarity, Span
from builder.release.export.records import (
    Labelled,
    Spans,
    TripletLabel,
    checked,
    review_details,
    triplet_details,
)

ASPECT, OPINION, CONTINUES = "ASPECT", "OPINION", "continues"
LABELLING_CONFIG = f"""<View>
  <Labels name="label" toName="text">
    <Label value="{ASPECT}" background="#2f7ed8" hotkey="a"/><Label value="{OPINION}" background="#d8862f" hotkey="o"/>
  </Labels>
  <Relations>
    {"".join(f'<Relation value="{name}"/>' for name in (*POLARITIES, CONTINUES))}
  </Relations>
  <Text name="text" value="$text"/>
</View>
"""
"""What Label Studio wants under Settings, Labeling Interface, before it takes the tasks."""
Node = dict[str, object]
_Region = tuple[str, str, Span]
"""(id, ASPECT or OPINION, span)"""
_Relation = tuple[str, str, str]
"""(from, to, polarity or `continues`)"""


def _graph(labels: Iterable[TripletLabel]) -> tuple[list[_Region], list[_Relation]]:
    """Regions, and relations in the order of the labels where they are none of `continues`. An element that several
    triplets share is a single region.
    """
    names: dict[tuple[str, Spans], str] = {}
    regions: list[_Region] = []
    relations: list[_Relation] = []

    def first(kind: str, spans: Spans) -> str:
        if (kind, spans) not in names:
            names[kind, spans] = name = f"{kind[0].lower()}{len(names)}"
            parts = [name if n == 0 else f"{name}.{n}" for n in range(len(spans))]
            regions.extend((part, kind, span) for part, span in zip(parts, spans, strict=True))
            relations.extend((a, b, CONTINUES) for a, b in zip(parts, parts[1:], strict=False))  # noqa: RUF007
        return names[kind, spans]

    for label in labels:
        relations.append((first(ASPECT, label.aspect), first(OPINION, label.opinion), label.polarity))
    return regions, relations


def _labels(regions: dict[str, Span], relations: list[_Relation]) -> Iterator[TripletLabel]:
    following = {a: b for a, b, kind in relations if kind == CONTINUES}

    def spans(name: str) -> Spans:
        parts = [regions[name]]
        while name in following:
            name = following[name]
            parts.append(regions[name])
            if len(parts) > len(regions):
                raise ValueError(f"{CONTINUES} leads in a circle")
        return tuple(parts)

    for a, b, kind in relations:
        if kind != CONTINUES:
            if kind not in POLARITIES:
                raise ValueError(f"a relation {kind!r}")
            polarity: Polarity = kind
            yield TripletLabel(spans(a), spans(b), polarity)


# ---- Label Studio


def label_studio(reviews: Iterable[Labelled], model: str = "builder") -> str:
    """A JSON array of tasks with predictions, to be imported as it is (the minimal export of Label Studio drops
    relations). The score of a prediction is its least confidence, so that tasks can be sorted by what is least sure;
    without a confidence for each triplet there is no score.
    """
    return json.dumps([_task(review, model) for review in reviews], ensure_ascii=False, indent=1) + "\n"


def _task(review: Labelled, model: str) -> Node:
    units = _utf16(review.text)
    regions, relations = _graph(review.labels)
    result: list[Node] = [
        {"id": name, "from_name": "label", "to_name": "text", "type": "labels",
         "value": {"start": units[start], "end": units[end], "text": review.text[start:end], "labels": [kind]}}
        for name, kind, (start, end) in regions
    ]  # fmt: skip
    result += [
        {"type": "relation", "from_id": a, "to_id": b, "direction": "right", "labels": [kind]}
        for a, b, kind in relations
    ]
    judged = [(a, b) for a, b, kind in relations if kind != CONTINUES]
    triplets = [
        {"from_id": a, "to_id": b} | triplet_details(label) for (a, b), label in zip(judged, review.labels, strict=True)
    ]
    details = review_details(review) | {"triplets": triplets} if review.row else {}
    prediction: Node = {"model_version": model} | _score(review.labels) | {"result": result}
    return {"data": {"id": review.id, "text": review.text} | details, "predictions": [prediction]}


def _score(labels: Iterable[TripletLabel]) -> Node:
    """How sure the least sure label is, if that is known of all."""
    sure = [label.row["confidence"] if label.row else None for label in labels]
    known = [confidence for confidence in sure if confidence is not None]
    return {"score": min(known)} if known and len(known) == len(sure) else {}


def _utf16(text: str) -> list[int]:
    """The UTF-16 offset of every code point and of the end."""
    return [0, *accumulate(2 if ord(char) > 0xFFFF else 1 for char in text)]


def read_label_studio(content: str) -> list[Labelled]:
    """Tasks with predictions, or with annotations (the first, which go before predictions). ValueError if a text is
    not at its offsets.
    """
    reviews: list[Labelled] = []
    for task in parse_json(content):
        text = task["data"]["text"]
        results: list[Any] = next(
            (versions[0]["result"] for key in ("annotations", "predictions") if (versions := task.get(key))), []
        )
        back = {unit: i for i, unit in enumerate(_utf16(text))}
        regions: dict[str, Span] = {}
        relations: list[_Relation] = []
        for result in results:
            if result["type"] == "relation":
                relations.append((result["from_id"], result["to_id"], result["labels"][0]))
            else:
                start, end = (back.get(result["value"][key], -1) for key in ("start", "end"))
                if start < 0 or text[start:end] != result["value"]["text"]:
                    raise ValueError(f"{result['value']} is not in the text")
                regions[result["id"]] = (start, end)
        reviews.append(_reviewed(str(task["data"].get("id", len(reviews) + 1)), text, regions, relations))
    return reviews


# ---- doccano


def doccano(reviews: Iterable[Labelled]) -> str:
    """JSON lines for a project of sequence labelling with relations. Its ids are numbers, so ours go along as
    `review`.
    """
    return "".join(json.dumps(_record(review), ensure_ascii=False) + "\n" for review in reviews)


def _record(review: Labelled) -> Node:
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
    record: Node = {"review": review.id, "text": review.text, "entities": entities, "relations": joined}
    if review.row is None:
        return record
    judged = [relation["id"] for relation in joined if relation["type"] != CONTINUES]
    triplets = [{"relation": n} | triplet_details(label) for n, label in zip(judged, review.labels, strict=True)]
    return record | review_details(review) | {"triplets": triplets}


def read_doccano(content: str) -> list[Labelled]:
    """Records with entities and relations. ValueError for a relation to an entity that is not there."""
    reviews: list[Labelled] = []
    for line in filter(None, content.split("\n")):
        row = parse_json(line)
        regions = {str(entity["id"]): (entity["start_offset"], entity["end_offset"]) for entity in row["entities"]}
        relations = [(str(edge["from_id"]), str(edge["to_id"]), edge["type"]) for edge in row["relations"]]
        name = str(row.get("review", row.get("id", len(reviews) + 1)))
        reviews.append(_reviewed(name, row["text"], regions, relations))
    return reviews


def _reviewed(name: str, text: str, regions: dict[str, Span], relations: list[_Relation]) -> Labelled:
    try:
        return checked(Labelled(name, text, tuple(_labels(regions, relations))))
    except KeyError as error:
        raise ValueError(f"review {name}: a relation to {error}, which is not there") from error
