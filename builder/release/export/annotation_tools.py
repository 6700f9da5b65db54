"""Label Studio and doccano: the triplets of reviews for people to look at and correct. Pure, both ways.

Regions and relations are as `builder.gold.label_studio` says. A relation with a polarity leads from the first span of
an aspect to the first of its opinion.

What a row says beside places and polarities goes along. A task of Label Studio has it in its `data`, a record of
doccano beside its text. `triplets` names the relation of each.

What comes back is read row by row (`task`, `document`).
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, cast

from builder.core.records import POLARITIES, Polarity
from builder.gold.label_studio import (
    ASPECT,
    CONTINUES,
    OPINION,
    Json,
    Region,
    Relation,
    cut,
    drawn,
    labels_tag,
    pieces,
    read_drawn,
)
from builder.release.export.native_rows import Labelled, Spans, TripletLabel, checked, review_details, triplet_details

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
