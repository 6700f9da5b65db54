"""Pools as files of Label Studio, and the answers in them; and how annotation tools draw a triplet, for releases too.

A file is a JSON list of tasks, one a candidate, and the labelling config beside it. The candidate's aspect and opinion
are regions; an element in pieces is several, joined by relations `continues`. What is missing are regions of their own,
joined by a relation that names the polarity. Read back from the full JSON export (JSON-MIN drops relations). Offsets of
Label Studio are UTF-16 units, those of doccano code points.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from builder.core.errors import InputError
from builder.core.files import parse_json, read_text
from builder.core.records import POLARITIES, Span, Triplet
from builder.gold.items import GUIDE, UNSURE, Fault, Filled, LabelItem, Missing, from_utf16, label_text, shown, to_utf16

Json = dict[str, Any]
Region = tuple[str, str, Span]
"""(id, the name of the part, span)"""
Relation = tuple[str, str, str]
"""(from, to, a polarity or `continues`)"""
ASPECT, OPINION, CONTINUES = "ASPECT", "OPINION", "continues"
MISSING_ASPECT, MISSING_OPINION = "MISSING-ASPECT", "MISSING-OPINION"
COLOURS: Mapping[str, str] = {
    ASPECT: "#2f7ed8",
    OPINION: "#d8862f",
    MISSING_ASPECT: "#2fa84f",
    MISSING_OPINION: "#8b5cf6",
}
KEYS: Mapping[str, str] = {ASPECT: "a", OPINION: "o", MISSING_ASPECT: "z", MISSING_OPINION: "x"}
"""The key of a label in Label Studio."""


def cut(name: str, part: str, spans: Sequence[Span]) -> tuple[list[Region], list[Relation]]:
    """The regions of an element called `name`, and the relations that join its pieces."""
    names = [name if number == 0 else f"{name}.{number}" for number in range(len(spans))]
    regions = [(one, part, span) for one, span in zip(names, spans, strict=True)]
    return regions, [(a, b, CONTINUES) for a, b in zip(names, names[1:], strict=False)]  # noqa: RUF007


def pieces(relations: Iterable[Relation]) -> Callable[[str], list[str]]:
    """The regions that make up an element, by the name of any of them."""
    beside: dict[str, list[str]] = {}
    for a, b, kind in relations:
        if kind == CONTINUES:
            beside.setdefault(a, []).append(b)
            beside.setdefault(b, []).append(a)

    def of(name: str) -> list[str]:
        joined, waiting = {name: None}, [name]
        while waiting:
            new = [other for other in beside.get(waiting.pop(), ()) if other not in joined]
            joined |= dict.fromkeys(new)
            waiting += new
        return list(joined)

    return of


# ---- Regions and relations of Label Studio


def labels_tag(control: str, parts: Iterable[str]) -> str:
    """The control that draws `parts`, for a labelling config."""
    labels = "".join(f'<Label value="{part}" background="{COLOURS[part]}" hotkey="{KEYS[part]}"/>' for part in parts)
    return f'<Labels name="{control}" toName="text">\n    {labels}\n  </Labels>'


def drawn(text: str, regions: Sequence[Region], relations: Iterable[Relation], control: str) -> list[Json]:
    """Regions and relations as results of Label Studio."""
    units = iter(to_utf16(text, [offset for *_, span in regions for offset in span]))
    results: list[Json] = [
        {"id": name, "from_name": control, "to_name": "text", "type": "labels",
         "value": {"start": next(units), "end": next(units), "text": text[slice(*span)], "labels": [part]}}
        for name, part, span in regions
    ]  # fmt: skip
    return results + [
        {"type": "relation", "from_id": a, "to_id": b, "direction": "right", "labels": [kind]}
        for a, b, kind in relations
    ]


def read_drawn(text: str, results: Iterable[Mapping[str, Any]]) -> tuple[list[Region], list[Relation]]:
    """Regions and relations of results of Label Studio. ValueError for an offset in a character."""
    values = [(str(one.get("id")), one["value"]) for one in results if one.get("type") == "labels"]
    offsets = iter(from_utf16(text, [value[end] for _, value in values for end in ("start", "end")]))
    regions = [(i, (value.get("labels") or [""])[0], (next(offsets), next(offsets))) for i, value in values]
    relations = [
        (str(one["from_id"]), str(one["to_id"]), (one.get("labels") or [""])[0])
        for one in results
        if one.get("type") == "relation"
    ]
    return regions, relations


# ---- Pools

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
    """The answers in a Label Studio export; a `Fault` for each task that cannot be read. InputError where the file is
    none, or its relations were dropped.
    """
    fix = "give the file as the tool exported it"
    try:
        rows = parse_json(read_text(path, fix))
    except ValueError as error:
        raise InputError(f"not JSON ({error})", where=str(path), fix=fix) from error
    if not isinstance(rows, list) or not all(isinstance(row, dict) for row in rows):
        raise InputError("no list of objects", where=str(path), fix=fix)
    for number, row in enumerate(rows, 1):
        if "annotation_id" in row and "data" not in row:
            fault = "this is Label Studio's JSON-MIN, which drops relations"
            raise InputError(fault, where=str(path), fix="export it again as `JSON`")
        if "data" not in row:
            fault = "no tasks of Label Studio" + ("; `gold score` reads what Argilla gives" if "fields" in row else "")
            raise InputError(fault, where=str(path), fix=fix)
        where = f"{path.name} task {number}"
        try:
            yield from [_read_annotation(where, row["data"], answers) for answers in row.get("annotations") or [{}]]
        except (KeyError, ValueError, TypeError, AttributeError, IndexError) as error:
            yield Fault(where, f"broken record ({error!r})", fix)


def _task(item: LabelItem) -> Json:
    review, candidate, label = item.review, item.candidate, item.label
    number = "" if candidate is None else str(candidate.n)
    data = {"pool": item.pool, "candidate": number, "review": review.key, "text": review.text}
    data |= {"question": item.question}
    own: list[Json] = []
    if candidate is not None:
        t = candidate.triplet  # its words, so that a file which was mixed up is noticed
        data |= {"aspect": t.aspect.text, "opinion": t.opinion.text, "polarity": t.polarity}
        aspect, opinion = (label and label.aspect) or t.aspect.spans, (label and label.opinion) or t.opinion.spans
        own = drawn(review.text, [*cut("a", ASPECT, aspect)[0], *cut("o", OPINION, opinion)[0]], (), "spans")
    results: list[Json] = []
    if label is not None:
        results.append(_choice("label", label_text(label)))
        results += [_choice("polarity", label.polarity)] if label.polarity else []
        note: Json = {"from_name": "note", "to_name": "text", "type": "textarea", "value": {"text": [label.note]}}
        results += [note] if label.note else []
    for place, t in enumerate(item.missing):
        results += _draw_missing(review.text, t, f"m{place}")
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
    kept = {name: "" if value is None else str(value) for name, value in data.items()}
    text, result = kept.get("text", ""), list(annotation.get("result") or [])
    repeated = {name: kept.get(name, "") for name in ("aspect", "opinion", "polarity") if kept.get("candidate")}
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

    label = str(chosen.get("label", [UNSURE if annotation.get("was_cancelled") and kept.get("candidate") else ""])[0])
    return Filled(
        where, kept.get("pool", ""), kept.get("candidate", ""), kept.get("review", ""), label,
        str(chosen.get("polarity", [""])[0]), element(ASPECT) if label else "", element(OPINION) if label else "",
        str(chosen.get("note", [""])[0]), tuple(_joined(text, regions, relations)),
        COMPLETE in chosen.get("review", []), _who(annotation.get("completed_by")), repeated, text,
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
