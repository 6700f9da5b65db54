"""Argilla 2: a JSON list of records, one a candidate, as `Dataset.records.from_json` reads; beside it the settings of
their dataset, as `Settings.from_json` reads. Offsets are code points.

Fields `text` and `question`; questions `label` (YY, YN, NX, unsure; none for a review without a candidate),
`polarity`, `spans` (aspect, opinion), `missing` and `note` (texts). A line of `missing` is `aspect | opinion | POS`; a
lone `-` says that nothing is missing. Labels given so far are suggestions, for a server takes responses of its own
users only.

Read back from the rows of `records.to_list(flatten=True)`: they alone say which answers were submitted.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from builder.core.records import POLARITIES, Span
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
from builder.gold.tool_fields import asked, dataset, options, spans_asked, submitted, suggested

NOTHING = "-"
NO_CANDIDATE = "none"
"""The answer to `label`, which Argilla requires, where a review has no candidate."""
LABELLED = "label"
"""The agent of suggestions that are labels given so far. The candidate's own are by the agent `candidate`."""
QUESTIONS = ("label", "polarity", "spans", "missing", "note")


def write(path: Path, items: Iterable[LabelItem]) -> None:
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


def read(path: Path) -> Iterator[Filled | Fault]:
    """The answers in a file of Argilla records; a `Fault` for each record that cannot be read."""
    return each(path, "record", _responses)


def _responses(where: str, row: dict[str, Any]) -> Iterator[Filled]:
    if "label.responses" in row:
        answers, row = submitted(row, QUESTIONS), {"fields": row, "metadata": row}
    elif row.get("responses"):
        raise Fault(
            where,
            "it does not say whether its answers were submitted",
            "write the export with json.dump(dataset.records.to_list(flatten=True), file)",
        )
    else:  # it saw no server: what it suggests are the labels so far
        given = (row.get("suggestions") or {}).items()
        answers = {"": {name: answer.get("value") for name, answer in given if answer.get("agent") == LABELLED}}
    for user, values in sorted(answers.items()) or [("", {})]:
        yield _filled(where, row, values, f"argilla:{user}" if user else "")


def _record(item: LabelItem) -> dict[str, Any]:
    review, candidate, label = item.review, item.candidate, item.label
    place = f"r{review.n}" if candidate is None else str(candidate.n)
    row: dict[str, Any] = {"id": f"{item.pool}-{place}", "fields": {"text": review.text, "question": item.question}}
    row["metadata"] = {
        "pool": item.pool,
        "candidate": "" if candidate is None else str(candidate.n),
        "review": review.key,
    }
    answers: dict[str, Any] = {}
    row["suggestions"] = {}
    if candidate is not None:
        t = candidate.triplet
        row["metadata"] |= {"aspect": t.aspect.text, "opinion": t.opinion.text, "polarity": t.polarity}
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


def _filled(where: str, row: Mapping[str, Any], values: Mapping[str, Any], user: str) -> Filled:
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
        where,
        text_of(meta, "pool"),
        text_of(meta, "candidate"),
        text_of(meta, "review"),
        label,
        str(values.get("polarity") or ""),
        element("aspect"),
        element("opinion"),
        str(values.get("note") or ""),
        tuple(_missing(line) for line in lines if line != NOTHING),
        NOTHING in lines or no_candidate,
        user,
        {name: text_of(meta, name) for name in ("aspect", "opinion", "polarity")} if meta.get("candidate") else {},
        text,
    )


def _missing(line: str) -> Missing:
    parts = [part.strip() for part in line.rsplit("|", 2)]
    aspect, opinion, polarity = [*parts, "", ""][:3]
    return aspect, opinion, polarity
