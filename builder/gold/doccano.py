"""doccano, project type "Intent detection and slot filling": JSON lines, one document a candidate. Offsets are code
points.

Categories answer: YY, YN or NX, the right polarity (POS, NEG, NEU) and `nothing missing`; entities ASPECT and OPINION
stand where the candidate does and are moved where that is wrong. A missing triplet takes entities MISSING-1-ASPECT
and MISSING-1-OPINION (1 to 9) and the category MISSING-1-POS. doccano lets no entities overlap: where the missing
triplet shares an element with the candidate, the category MISSING-1-SAME-ASPECT (or -OPINION) stands for its entity.
The categories and entities lie beside the documents, as doccano imports them. It writes one file for each annotator.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from builder.core.records import POLARITIES, VERDICTS, Span
from builder.gold.items import UNSURE, Fault, Filled, LabelItem, Missing, each, label_text, shown, text_of
from builder.gold.tool_fields import ASPECT, COLOURS, KEYS, OPINION

NOTHING = "nothing missing"
_MISSING = re.compile(r"MISSING-([1-9])-(POS|NEG|NEU)")
_SAME = re.compile(r"MISSING-([1-9])-SAME-(?:ASPECT|OPINION)")
_OFFERED = (1, 2)
"""Numbers of missing triplets that doccano is given labels for; more are added there by hand."""


def write(path: Path, items: Iterable[LabelItem]) -> None:
    """Write the items as doccano documents, one a line; beside them the categories and entities of the project."""
    with path.open("w", encoding="utf-8") as file:
        for item in items:
            file.write(json.dumps(_document(item), ensure_ascii=False) + "\n")
    ends = (*POLARITIES, "SAME-ASPECT", "SAME-OPINION")
    missing = [f"MISSING-{number}-{end}" for number in _OFFERED for end in ends]
    entities = [f"MISSING-{number}-{name}" for number in _OFFERED for name in (ASPECT, OPINION)]
    for name, labels in (
        ("categories", [*VERDICTS, UNSURE, *POLARITIES, NOTHING, *missing]),
        ("entities", [ASPECT, OPINION, *entities]),
    ):
        rows = json.dumps([_label_type(label) for label in labels], indent=1)
        path.with_suffix(f".{name}.json").write_text(rows + "\n", encoding="utf-8")


def _label_type(label: str) -> dict[str, str | None]:
    """A label as doccano imports it."""
    look = {"backgroundColor": COLOURS.get(label, "#6b6b73"), "textColor": "#ffffff"}
    return {"text": label, "prefixKey": None, "suffixKey": KEYS.get(label)} | look


def read(path: Path) -> Iterator[Filled | Fault]:
    """The answers in a doccano export; a `Fault` for each line that cannot be read."""
    return each(path, "line", lambda where, row: [_filled(where, row | (row.get("meta") or {}))])


def _document(item: LabelItem) -> dict[str, Any]:
    review, candidate, label = item.review, item.candidate, item.label
    row: dict[str, Any] = {"text": review.text, "cats": [], "entities": []}
    row |= {
        "pool": item.pool,
        "candidate": "" if candidate is None else str(candidate.n),
        "review": review.key,
        "question": item.question,
        "note": label.note if label else "",
    }
    row |= dict.fromkeys(("aspect", "opinion", "polarity"), "")  # doccano stores no row that lacks what others have
    if candidate is not None:
        t = candidate.triplet
        aspect, opinion = (label and label.aspect) or t.aspect.spans, (label and label.opinion) or t.opinion.spans
        row |= {"aspect": t.aspect.text, "opinion": t.opinion.text, "polarity": t.polarity}
        row["entities"] = [[*span, ASPECT] for span in aspect] + [[*span, OPINION] for span in opinion]
    if label is not None:
        row["cats"] += [label_text(label), *([label.polarity] if label.polarity else [])]
    own = {name: [entity[:2] for entity in row["entities"] if entity[2] == name] for name in (ASPECT, OPINION)}
    for number, t in enumerate(item.missing, 1):
        row["cats"].append(f"MISSING-{number}-{t.polarity}")
        for name, spans in ((ASPECT, t.aspect.spans), (OPINION, t.opinion.spans)):
            if [list(span) for span in spans] == own[name]:
                row["cats"].append(f"MISSING-{number}-SAME-{name}")
            else:
                row["entities"] += [[*span, f"MISSING-{number}-{name}"] for span in spans]
    row["cats"] += [NOTHING] if item.checked else []
    return row


def _filled(where: str, row: Mapping[str, Any]) -> Filled:
    cats = [str(category) for category in row.get("cats") or []]
    entities: dict[str, list[Span]] = {}
    for entity in row.get("entities") or []:
        start, end, name = (
            (entity["start_offset"], entity["end_offset"], entity["label"]) if isinstance(entity, dict) else entity
        )
        entities.setdefault(str(name), []).append((int(start), int(end)))
    text = text_of(row, "text")
    label = "+".join(cat for cat in cats if cat in (*VERDICTS, UNSURE))
    polarity = "+".join(cat for cat in cats if cat in POLARITIES)

    def element(name: str) -> str:
        return shown(text, sorted(entities[name])) if name in entities else ""

    repeated = {name: text_of(row, name) for name in ("aspect", "opinion", "polarity")}
    return Filled(
        where,
        text_of(row, "pool"),
        text_of(row, "candidate"),
        text_of(row, "review"),
        label,
        polarity,
        element(ASPECT) if label else "",
        element(OPINION) if label else "",
        text_of(row, "note"),
        tuple(_missing(cats, entities, element, repeated)),
        NOTHING in cats,
        shown=repeated if row.get("candidate") else {},
        text=text,
    )


def _missing(
    cats: Sequence[str], entities: Mapping[str, object], element: Callable[[str], str], own: Mapping[str, str]
) -> Iterator[Missing]:
    """A missing triplet for each number that stands in a category or in an entity; what one lacks is empty, and
    faulted later. `own`: the words of the candidate, for an entity that was not drawn.
    """
    polarity = {match[1]: match[2] for match in map(_MISSING.fullmatch, cats) if match}
    drawn = {name.split("-")[1] for name in entities if name.startswith("MISSING-") and name.count("-") == 2}
    drawn |= {match[1] for match in map(_SAME.fullmatch, cats) if match}

    def words(number: str, name: str) -> str:
        shared = f"MISSING-{number}-SAME-{name}" in cats
        return (element(name) or own[name.lower()]) if shared else element(f"MISSING-{number}-{name}")

    for number in sorted(polarity.keys() | drawn):
        yield words(number, ASPECT), words(number, OPINION), polarity.get(number, "")
