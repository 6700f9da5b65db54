"""Fields of annotation tools for a triplet, for pools and for releases alike. Pure, both ways.

Label Studio, doccano and Argilla each name the parts of a triplet and draw words in their own way. In Label Studio and
doccano an element in pieces is several regions joined by relations `continues`. There a triplet is a relation with its
polarity. Label Studio counts UTF-16 units, the others code points.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from builder.core.records import Span
from builder.gold.items import from_utf16, to_utf16

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


# ---- Label Studio


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


# ---- Argilla


def asked(
    name: str, title: str, kind: str, description: str | None = None, *, required: bool = True, **more: Any
) -> Json:
    """A field or a question of a dataset."""
    settings = {"type": kind} | more
    return {"name": name, "title": title, "description": description, "required": required, "settings": settings}


def options(texts: Mapping[str, str]) -> list[dict[str, str]]:
    """What a question offers."""
    return [{"value": value, "text": text} for value, text in texts.items()]


def spans_asked(title: str) -> Json:
    """The question that has aspects and opinions drawn."""
    parts = options({part.lower(): part.capitalize() for part in (ASPECT, OPINION)})
    return asked("spans", title, "span", required=False, field="text", allow_overlapping=True, options=parts)


def dataset(guidelines: str, fields: list[Json], questions: list[Json], metadata: Iterable[str]) -> Json:
    """The settings of a dataset."""
    kept = [{"name": name, "title": name, "settings": {"type": "terms"}} for name in metadata]
    return {"guidelines": guidelines, "fields": fields, "questions": questions, "metadata": kept} | {
        "allow_extra_metadata": True
    }


def suggested(value: Any, agent: str) -> Json:
    """An answer that a record suggests."""
    return {"value": value, "agent": agent, "score": None}


def submitted(row: Mapping[str, Any], questions: Iterable[str]) -> dict[str, dict[str, Any]]:
    """The answers of each user in a row of `to_list(flatten=True)`, without drafts and what was discarded."""
    answers: dict[str, dict[str, Any]] = {}
    for name in questions:
        columns = [row.get(f"{name}.responses{part}") or [] for part in ("", ".users", ".status")]
        for value, user, status in zip(*columns, strict=True):
            if status == "submitted":
                answers.setdefault(str(user), {})[name] = value
    return answers
