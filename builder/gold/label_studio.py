"""Label Studio: a JSON list of tasks, one a candidate, and the labelling config beside it. Its offsets are UTF-16
units.

The candidate's aspect and opinion are regions; an element in pieces has several. What is missing are regions of their
own, joined by a relation that names the polarity; PART joins pieces. Read back from the full JSON export (JSON-MIN
drops relations).
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from builder.core.records import Span, Triplet
from builder.gold.items import (
    GUIDE,
    UNSURE,
    Fault,
    Filled,
    LabelItem,
    Missing,
    each,
    from_utf16,
    label_text,
    shown,
    text_of,
    to_utf16,
)

Json = dict[str, Any]
_KINDS = {"choices": "choices", "textarea": "text"}
MISSING, NOTHING = ("Missing aspect", "Missing opinion"), "nothing missing"
CONFIG = f"""<View>
  <Header value="$question"/>
  {"".join(f'<Header size="6" value="{label}: {chinese} {english}"/>' for label, chinese, english in GUIDE)}
  <Labels name="spans" toName="text">
    <Label value="Aspect" background="#2f7ed8" hotkey="a"/><Label value="Opinion" background="#d8862f" hotkey="o"/>
    <Label value="{MISSING[0]}" background="#2fa84f" hotkey="z"/>\
<Label value="{MISSING[1]}" background="#8b5cf6" hotkey="x"/>
  </Labels>
  <Relations><Relation value="POS"/><Relation value="NEG"/><Relation value="NEU"/><Relation value="PART"/></Relations>
  <Text name="text" value="$text"/>
  <Choices name="label" toName="text" choice="single-radio">
    <Choice value="YY" hotkey="1"/><Choice value="YN" hotkey="2"/><Choice value="NX" hotkey="3"/>\
<Choice value="{UNSURE}" hotkey="0"/>
  </Choices>
  <Header size="6" value="YN: right polarity"/>
  <Choices name="polarity" toName="text" choice="single-radio"><Choice value="POS"/><Choice value="NEG"/>\
<Choice value="NEU"/></Choices>
  <Choices name="review" toName="text" choice="multiple"><Choice value="{NOTHING}"/></Choices>
  <TextArea name="note" toName="text" rows="1" maxSubmissions="1"/>
</View>
"""


def write(path: Path, items: Iterable[LabelItem]) -> None:
    """Write the items as Label Studio tasks."""
    tasks = [_task(item) for item in items]
    path.write_text(json.dumps(tasks, ensure_ascii=False, indent=1) + "\n", encoding="utf-8")
    path.with_suffix(".config.xml").write_text(CONFIG, encoding="utf-8")


def read(path: Path) -> Iterator[Filled | Fault]:
    """The answers in a Label Studio export; a `Fault` for each task that cannot be read."""
    return each(path, "task", _annotations)


def _annotations(where: str, row: Json) -> Iterator[Filled]:
    for annotation in row.get("annotations") or [{}]:
        yield _filled(where, row["data"], annotation)


def _task(item: LabelItem) -> Json:
    review, candidate, label = item.review, item.candidate, item.label
    data = {
        "pool": item.pool,
        "candidate": "" if candidate is None else str(candidate.n),
        "review": review.key,
        "text": review.text,
        "question": item.question,
    }
    drawn: list[Json] = []
    if candidate is not None:
        t = candidate.triplet
        data |= {"aspect": t.aspect.text, "opinion": t.opinion.text, "polarity": t.polarity}
        aspect, opinion = (label and label.aspect) or t.aspect.spans, (label and label.opinion) or t.opinion.spans
        drawn = [*_regions(review.text, aspect, "Aspect", "a"), *_regions(review.text, opinion, "Opinion", "o")]
    results: list[Json] = []
    if label is not None:
        results.append(_choice("label", label_text(label)))
        results += [_choice("polarity", label.polarity)] if label.polarity else []
        results += (
            [{"from_name": "note", "to_name": "text", "type": "textarea", "value": {"text": [label.note]}}]
            if label.note
            else []
        )
    for number, t in enumerate(item.missing):
        results += _missing(review.text, t, f"m{number}")
    results += [_choice("review", NOTHING)] if item.checked else []
    task: Json = {"data": data, "predictions": [{"model_version": "candidate", "result": drawn}] if drawn else []}
    if results:
        task["annotations"] = [{"result": drawn + results}]
    return task


def _regions(text: str, spans: Iterable[Span], name: str, prefix: str) -> list[Json]:
    out = []
    for number, span in enumerate(spans):
        start, end = to_utf16(text, span)
        value = {"start": start, "end": end, "text": text[slice(*span)], "labels": [name]}
        out.append(
            {"id": f"{prefix}{number}", "from_name": "spans", "to_name": "text", "type": "labels", "value": value}
        )
    return out


def _missing(text: str, t: Triplet, prefix: str) -> list[Json]:
    aspect = _regions(text, t.aspect.spans, MISSING[0], prefix + "a")
    opinion = _regions(text, t.opinion.spans, MISSING[1], prefix + "o")
    parts = [(regions[0]["id"], further["id"], "PART") for regions in (aspect, opinion) for further in regions[1:]]
    joined = [(aspect[0]["id"], opinion[0]["id"], str(t.polarity)), *parts]
    return [
        *aspect,
        *opinion,
        *(
            {"type": "relation", "from_id": a, "to_id": b, "direction": "right", "labels": [name]}
            for a, b, name in joined
        ),
    ]


def _choice(name: str, value: str) -> Json:
    return {"from_name": name, "to_name": "text", "type": "choices", "value": {"choices": [value]}}


def _filled(where: str, data: Mapping[str, Any], annotation: Mapping[str, Any]) -> Filled:
    text, result = text_of(data, "text"), list(annotation.get("result") or [])
    chosen = {
        entry["from_name"]: entry["value"][kind]
        for entry in result
        for kind in (_KINDS.get(entry.get("type")),)
        if kind
    }
    regions = {str(entry.get("id")): entry["value"] for entry in result if entry.get("type") == "labels"}

    def element(name: str) -> str:
        values = [value for value in regions.values() if name in (value.get("labels") or [])]
        return _shown(text, values) if values else ""

    repeated = {name: text_of(data, name) for name in ("aspect", "opinion", "polarity")}
    label = str(chosen.get("label", [UNSURE if annotation.get("was_cancelled") and data.get("candidate") else ""])[0])
    return Filled(
        where,
        text_of(data, "pool"),
        text_of(data, "candidate"),
        text_of(data, "review"),
        label,
        str(chosen.get("polarity", [""])[0]),
        element("Aspect") if label else "",
        element("Opinion") if label else "",
        str(chosen.get("note", [""])[0]),
        tuple(_joined(text, regions, result)),
        NOTHING in chosen.get("review", []),
        _who(annotation.get("completed_by")),
        repeated if data.get("candidate") else {},
        text,
    )


def _shown(text: str, regions: Iterable[Mapping[str, Any]]) -> str:
    spans = sorted((value["start"], value["end"]) for value in regions)
    return shown(text, [(start, end) for start, end in (from_utf16(text, span) for span in spans)])


def _joined(
    text: str, regions: Mapping[str, Mapping[str, Any]], result: Iterable[Mapping[str, Any]]
) -> Iterator[Missing]:
    """A missing triplet for each relation that names a polarity; its ends with the pieces that PART joins to them."""
    relations = [
        (str(entry["from_id"]), str(entry["to_id"]), (entry.get("labels") or [""])[0])
        for entry in result
        if entry.get("type") == "relation"
    ]
    pieces: dict[str, list[str]] = {}
    for a, b, name in relations:
        if name == "PART":
            pieces.setdefault(a, []).append(b)
            pieces.setdefault(b, []).append(a)
    for a, b, name in relations:
        ends = sorted((a, b), key=lambda i: MISSING[1] in regions[i]["labels"])
        if name != "PART":
            aspect, opinion = (_shown(text, [regions[i] for i in (end, *pieces.get(end, ()))]) for end in ends)
            yield aspect, opinion, name


def _who(completed: object) -> str:
    if isinstance(completed, dict):
        completed = completed.get("email") or completed.get("id")
    return "" if completed is None else f"label-studio:{completed}" if isinstance(completed, int) else str(completed)
