"""Pools as files of Label Studio and Argilla, and the answers in them.

Label Studio: a JSON list of tasks, one a candidate, and the labelling config beside it. Its offsets are UTF-16 units.
The candidate's aspect and opinion are regions; an element in pieces has several. What is missing are regions of their
own, joined by a relation that names the polarity; `continues` joins pieces. Read back from the full JSON export
(JSON-MIN drops relations).

Argilla 2: a JSON list of records, one a candidate, as `Dataset.records.from_json` reads; beside it the settings of
their dataset, as `Settings.from_json` reads. Offsets are code points. Fields `text` and `question`; questions `label`
(YY, YN, NX, unsure; none for a review without a candidate), `polarity`, `spans` (aspect, opinion), `missing` and `note`
(texts). A line of `missing` is `aspect | opinion | POS`; a lone `-` says that nothing is missing. Labels given so far
are suggestions, for a server takes responses of its own users only. Read back from the rows of
`records.to_list(flatten=True)`: they alone say which answers were submitted.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from builder.core.records import POLARITIES, Span, Triplet
from builder.gold.items import (
    GUIDE,
    UNSURE,
    Fault,
    Filled,
    LabelItem,
    Missing,
    each,
    label_text,
    missing_of,
    shown,
    text_of,
)
from builder.gold.tool_fields import (
    ASPECT,
    CONTINUES,
    MISSING_ASPECT,
    MISSING_OPINION,
    OPINION,
    Json,
    Region,
    Relation,
    asked,
    cut,
    dataset,
    drawn,
    labels_tag,
    options,
    pieces,
    read_drawn,
    spans_asked,
    submitted,
    suggested,
)


def _name_item(item: LabelItem) -> Json:
    """Where an item belongs."""
    number = "" if item.candidate is None else str(item.candidate.n)
    return {"pool": item.pool, "candidate": number, "review": item.review.key}


def _repeat_candidate(item: LabelItem) -> Json:
    """The words of a candidate, so that a file which was mixed up is noticed."""
    if item.candidate is None:
        return {}
    t = item.candidate.triplet
    return {"aspect": t.aspect.text, "opinion": t.opinion.text, "polarity": t.polarity}


def _read_repeated(data: Mapping[str, Any]) -> dict[str, str]:
    return {name: text_of(data, name) for name in ("aspect", "opinion", "polarity")} if data.get("candidate") else {}


# ---- Label Studio

_KINDS = {"choices": "choices", "textarea": "text"}
COMPLETE = "nothing missing"
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
  <Choices name="review" toName="text" choice="multiple"><Choice value="{COMPLETE}"/></Choices>
  <TextArea name="note" toName="text" rows="1" maxSubmissions="1"/>
</View>
"""


def write_tasks(path: Path, items: Iterable[LabelItem]) -> None:
    tasks = [_task(item) for item in items]
    path.write_text(json.dumps(tasks, ensure_ascii=False, indent=1) + "\n", encoding="utf-8")
    path.with_suffix(".config.xml").write_text(CONFIG, encoding="utf-8")


def read_tasks(path: Path) -> Iterator[Filled | Fault]:
    """The answers in a Label Studio export; a `Fault` for each task that cannot be read."""
    return each(path, "task", _annotations)


def _annotations(where: str, row: Json) -> Iterator[Filled]:
    for annotation in row.get("annotations") or [{}]:
        yield _read_annotation(where, row["data"], annotation)


def _task(item: LabelItem) -> Json:
    review, candidate, label = item.review, item.candidate, item.label
    data = {**_name_item(item), "text": review.text, "question": item.question, **_repeat_candidate(item)}
    own: list[Json] = []
    if candidate is not None:
        t = candidate.triplet
        aspect, opinion = (label and label.aspect) or t.aspect.spans, (label and label.opinion) or t.opinion.spans
        own = drawn(review.text, [*cut("a", ASPECT, aspect)[0], *cut("o", OPINION, opinion)[0]], (), "spans")
    results: list[Json] = []
    if label is not None:
        results.append(_choice("label", label_text(label)))
        results += [_choice("polarity", label.polarity)] if label.polarity else []
        note: Json = {"from_name": "note", "to_name": "text", "type": "textarea", "value": {"text": [label.note]}}
        results += [note] if label.note else []
    for number, t in enumerate(item.missing):
        results += _draw_missing(review.text, t, f"m{number}")
    results += [_choice("review", COMPLETE)] if item.checked else []
    task: Json = {"data": data, "predictions": [{"model_version": "candidate", "result": own}] if own else []}
    if results:
        task["annotations"] = [{"result": own + results}]
    return task


def _draw_missing(text: str, t: Triplet, prefix: str) -> list[Json]:
    aspect, further = cut(prefix + "a", MISSING_ASPECT, t.aspect.spans)
    opinion, more = cut(prefix + "o", MISSING_OPINION, t.opinion.spans)
    joined = [(prefix + "a", prefix + "o", str(t.polarity)), *further, *more]
    return drawn(text, [*aspect, *opinion], joined, "spans")


def _choice(name: str, value: str) -> Json:
    return {"from_name": name, "to_name": "text", "type": "choices", "value": {"choices": [value]}}


def _read_annotation(where: str, data: Mapping[str, Any], annotation: Mapping[str, Any]) -> Filled:
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

    label = str(chosen.get("label", [UNSURE if annotation.get("was_cancelled") and data.get("candidate") else ""])[0])
    return Filled(
        where, text_of(data, "pool"), text_of(data, "candidate"), text_of(data, "review"), label,
        str(chosen.get("polarity", [""])[0]), element(ASPECT) if label else "", element(OPINION) if label else "",
        str(chosen.get("note", [""])[0]), tuple(_joined(text, regions, relations)),
        COMPLETE in chosen.get("review", []), _who(annotation.get("completed_by")), _read_repeated(data), text,
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


# ---- Argilla

NOTHING = "-"
NO_CANDIDATE = "none"
"""The answer to `label`, which Argilla requires, where a review has no candidate."""
LABELLED = "label"
"""The agent of suggestions that are labels given so far. The candidate's own are by the agent `candidate`."""
QUESTIONS = ("label", "polarity", "spans", "missing", "note")


def write_records(path: Path, items: Iterable[LabelItem]) -> None:
    """Write the items as Argilla records, and the settings of their dataset beside them."""
    for file, content in ((path, [_record(item) for item in items]), (path.with_suffix(".settings.json"), settings())):
        file.write_text(json.dumps(content, ensure_ascii=False, indent=1) + "\n", encoding="utf-8")


def settings() -> dict[str, Any]:
    """The fields, questions and filters of a dataset that takes these records."""
    labels = {name: f"{name} {chinese}" for name, chinese, _ in GUIDE} | {
        UNSURE: f"{UNSURE} 不確定",
        NO_CANDIDATE: f"{NO_CANDIDATE} 沒有候選",
    }
    guide = [f"* **{name}** {chinese} {english}" for name, chinese, english in GUIDE]
    guide.append(f"* **{NO_CANDIDATE}** 這則評論沒有候選。 The review has no candidate.")
    missing = f"One a line: aspect | opinion | POS. A lone {NOTHING} says that nothing is missing."
    polarities = options({name: name for name in POLARITIES})
    return dataset(
        "\n".join(guide),
        [asked("question", "Candidate", "text"), asked("text", "Review", "text")],
        [
            asked("label", "Is the candidate right?", "label_selection", options=options(labels)),
            asked("polarity", "YN: the right polarity", "label_selection", required=False, options=polarities),
            spans_asked("The words, where others are right"),
            asked("missing", "Missing triplets", "text", missing, required=False),
            asked("note", "Note", "text", required=False),
        ],
        ("review", "aspect", "opinion"),
    )


def read_records(path: Path) -> Iterator[Filled | Fault]:
    """The answers in a file of Argilla records; a `Fault` for each record that cannot be read."""
    return each(path, "record", _responses)


def _responses(where: str, row: dict[str, Any]) -> Iterator[Filled]:
    if "label.responses" in row:
        answers, row = submitted(row, QUESTIONS), {"fields": row, "metadata": row}
    elif row.get("responses"):
        fix = "write the export with json.dump(dataset.records.to_list(flatten=True), file)"
        raise Fault(where, "it does not say whether its answers were submitted", fix)
    else:  # it saw no server: what it suggests are the labels so far
        given = (row.get("suggestions") or {}).items()
        answers = {"": {name: answer.get("value") for name, answer in given if answer.get("agent") == LABELLED}}
    for user, values in sorted(answers.items()) or [("", {})]:
        yield _read_answers(where, row, values, f"argilla:{user}" if user else "")


def _record(item: LabelItem) -> dict[str, Any]:
    review, candidate, label = item.review, item.candidate, item.label
    place = f"r{review.n}" if candidate is None else str(candidate.n)
    row: dict[str, Any] = {"id": f"{item.pool}-{place}", "fields": {"text": review.text, "question": item.question}}
    row["metadata"] = _name_item(item) | _repeat_candidate(item)
    answers: dict[str, Any] = {}
    row["suggestions"] = {}
    if candidate is not None:
        t = candidate.triplet
        row["suggestions"] = {"spans": suggested(_spans(t.aspect.spans, t.opinion.spans), "candidate")}
        if label is not None:
            answers = {
                "label": label_text(label),
                "spans": _spans(label.aspect or t.aspect.spans, label.opinion or t.opinion.spans),
            }
            answers |= {"polarity": label.polarity} if label.polarity else {}
        answers |= {"note": label.note} if label is not None and label.note else {}
    lines = [" | ".join(given) for given in missing_of(item)] + ([NOTHING] if item.checked else [])
    answers |= {"missing": "\n".join(lines)} if lines else {}
    row["suggestions"] |= {name: suggested(value, LABELLED) for name, value in answers.items()}
    return row | {"responses": {}, "vectors": {}}


def _spans(aspect: Iterable[Span], opinion: Iterable[Span]) -> list[dict[str, Any]]:
    return [
        {"start": start, "end": end, "label": name}
        for name, spans in (("aspect", aspect), ("opinion", opinion))
        for start, end in spans
    ]


def _read_answers(where: str, row: Mapping[str, Any], values: Mapping[str, Any], user: str) -> Filled:
    meta, text = row.get("metadata") or {}, text_of(row.get("fields") or {}, "text")
    drawn: dict[str, list[Span]] = {}
    for span in values.get("spans") or []:
        drawn.setdefault(str(span["label"]), []).append((int(span["start"]), int(span["end"])))
    lines = [line.strip() for line in str(values.get("missing") or "").split("\n") if line.strip()]
    label = str(values.get("label") or "")
    no_candidate = label == NO_CANDIDATE and not meta.get("candidate")
    label = "" if no_candidate else label

    def element(name: str) -> str:
        return shown(text, sorted(drawn[name])) if label and name in drawn else ""

    return Filled(
        where, text_of(meta, "pool"), text_of(meta, "candidate"), text_of(meta, "review"), label,
        str(values.get("polarity") or ""), element("aspect"), element("opinion"), str(values.get("note") or ""),
        tuple(_read_missing(line) for line in lines if line != NOTHING), NOTHING in lines or no_candidate, user,
        _read_repeated(meta), text,
    )  # fmt: skip


def _read_missing(line: str) -> Missing:
    parts = [part.strip() for part in line.rsplit("|", 2)]
    aspect, opinion, polarity = [*parts, "", ""][:3]
    return aspect, opinion, polarity
