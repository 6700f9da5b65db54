"""Label Studio: a JSON list of tasks, one a candidate, and the labelling config beside it. Its offsets are UTF-16
units.

The candidate's aspect and opinion are regions; an element in pieces has several. What is missing are regions of their
own, joined by a relation that names the polarity; `continues` joins pieces. Read back from the full JSON export
(JSON-MIN drops relations).
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from builder.core.records import POLARITIES, Span, Triplet
from builder.gold.items import GUIDE, UNSURE, Fault, Filled, LabelItem, Missing, each, label_text, shown, text_of
from builder.gold.tool_fields import (
    ASPECT,
    CONTINUES,
    MISSING_ASPECT,
    MISSING_OPINION,
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

_KINDS = {"choices": "choices", "textarea": "text"}
NOTHING = "nothing missing"
CONFIG = f"""<View>
  <Header value="$question"/>
  {"".join(f'<Header size="6" value="{label}: {chinese} {english}"/>' for label, chinese, english in GUIDE)}
  {labels_tag("spans", (ASPECT, OPINION, MISSING_ASPECT, MISSING_OPINION))}
  <Relations>{"".join(f'<Relation value="{name}"/>' for name in (*POLARITIES, CONTINUES))}</Relations>
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
    own: list[Json] = []
    if candidate is not None:
        t = candidate.triplet
        data |= {"aspect": t.aspect.text, "opinion": t.opinion.text, "polarity": t.polarity}
        aspect, opinion = (label and label.aspect) or t.aspect.spans, (label and label.opinion) or t.opinion.spans
        own = drawn(review.text, [*cut("a", ASPECT, aspect)[0], *cut("o", OPINION, opinion)[0]], (), "spans")
    results: list[Json] = []
    if label is not None:
        results.append(_choice("label", label_text(label)))
        results += [_choice("polarity", label.polarity)] if label.polarity else []
        note: Json = {"from_name": "note", "to_name": "text", "type": "textarea", "value": {"text": [label.note]}}
        results += [note] if label.note else []
    for number, t in enumerate(item.missing):
        results += _missing(review.text, t, f"m{number}")
    results += [_choice("review", NOTHING)] if item.checked else []
    task: Json = {"data": data, "predictions": [{"model_version": "candidate", "result": own}] if own else []}
    if results:
        task["annotations"] = [{"result": own + results}]
    return task


def _missing(text: str, t: Triplet, prefix: str) -> list[Json]:
    aspect, further = cut(prefix + "a", MISSING_ASPECT, t.aspect.spans)
    opinion, more = cut(prefix + "o", MISSING_OPINION, t.opinion.spans)
    joined = [(prefix + "a", prefix + "o", str(t.polarity)), *further, *more]
    return drawn(text, [*aspect, *opinion], joined, "spans")


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
    regions, relations = read_drawn(text, result)

    def element(part: str) -> str:
        spans = sorted(span for _, name, span in regions if name == part)
        return shown(text, spans) if spans else ""

    repeated = {name: text_of(data, name) for name in ("aspect", "opinion", "polarity")}
    label = str(chosen.get("label", [UNSURE if annotation.get("was_cancelled") and data.get("candidate") else ""])[0])
    return Filled(
        where, text_of(data, "pool"), text_of(data, "candidate"), text_of(data, "review"), label,
        str(chosen.get("polarity", [""])[0]), element(ASPECT) if label else "", element(OPINION) if label else "",
        str(chosen.get("note", [""])[0]), tuple(_joined(text, regions, relations)), NOTHING in chosen.get("review", []),
        _who(annotation.get("completed_by")), repeated if data.get("candidate") else {}, text,
    )  # fmt: skip


def _joined(text: str, regions: Iterable[Region], relations: list[Relation]) -> Iterator[Missing]:
    """A missing triplet for each relation that names a polarity; its ends with the pieces that are joined to them."""
    parts: dict[str, tuple[str, Span]] = {name: (part, span) for name, part, span in regions}
    element = pieces(relations)
    for a, b, name in relations:
        ends = sorted((a, b), key=lambda i: parts[i][0] == MISSING_OPINION)
        if name != CONTINUES:
            aspect, opinion = (shown(text, sorted(parts[i][1] for i in element(end))) for end in ends)
            yield aspect, opinion, name


def _who(completed: object) -> str:
    if isinstance(completed, dict):
        completed = completed.get("email") or completed.get("id")
    return "" if completed is None else f"label-studio:{completed}" if isinstance(completed, int) else str(completed)
