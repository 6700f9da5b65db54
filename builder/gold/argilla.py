"""Argilla 2: a JSON list of records, one a candidate, as `Dataset.records.from_json` reads and `to_json` writes.
Offsets are code points.

Fields `text` and `question`; questions `label` (YY, YN, NX), `polarity`, `spans` (aspect, opinion), `missing` and
`note` (texts). A line of `missing` is `aspect | opinion | POS`; a lone `-` says that nothing is missing.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any
from uuid import NAMESPACE_URL, uuid5

from builder.gold.items import Fault, Filled, LabelItem, Missing, label_text, missing_of
from builder.gold.jsonfile import each, text_of
from builder.gold.mention import shown
from builder.records import Span

NOTHING = "-"
USER = str(uuid5(NAMESPACE_URL, "builder"))
"""Whose responses exported labels are: Argilla wants a user's id."""


def write(path: Path, items: Iterable[LabelItem]) -> None:
    """Write the items as Argilla records."""
    path.write_text(
        json.dumps([_record(item) for item in items], ensure_ascii=False, indent=1) + "\n", encoding="utf-8"
    )


def read(path: Path) -> Iterator[Filled | Fault]:
    """The answers in a file of Argilla records; a `Fault` for each record that cannot be read."""
    return each(path, "record", _responses)


def _responses(where: str, row: dict[str, Any]) -> Iterator[Filled]:
    responses = row.get("responses") or {}
    users = sorted({str(answer.get("user_id") or "") for answers in responses.values() for answer in answers})
    for user in users or [""]:
        values = {
            name: answer.get("value")
            for name, answers in responses.items()
            for answer in answers
            if str(answer.get("user_id") or "") == user
        }
        yield _filled(where, row, values, "" if user in ("", USER) else f"argilla:{user}")


def _record(item: LabelItem) -> dict[str, Any]:
    review, candidate, label = item.review, item.candidate, item.label
    place = f"r{review.n}" if candidate is None else str(candidate.n)
    row: dict[str, Any] = {"id": f"{item.pool}-{place}", "fields": {"text": review.text, "question": item.question}}
    row["metadata"] = {
        "pool": item.pool,
        "candidate": "" if candidate is None else str(candidate.n),
        "review": review.key,
    }
    row["suggestions"], answers = {}, {}
    if candidate is not None:
        t = candidate.triplet
        row["metadata"] |= {"aspect": t.aspect.text, "opinion": t.opinion.text, "polarity": t.polarity}
        row["suggestions"] = {
            "spans": {"value": _spans(t.aspect.spans, t.opinion.spans), "agent": "candidate", "score": None}
        }
        if label is not None:
            answers = {
                "label": label_text(label),
                "spans": _spans(label.aspect or t.aspect.spans, label.opinion or t.opinion.spans),
            }
            answers |= {"polarity": label.polarity} if label.polarity else {}
        answers |= {"note": label.note} if label is not None and label.note else {}
    lines = [" | ".join(given) for given in missing_of(item)] + ([NOTHING] if item.checked else [])
    answers |= {"missing": "\n".join(lines)} if lines else {}
    row["responses"] = {name: [{"value": value, "user_id": USER}] for name, value in answers.items()}
    return row | {"vectors": {}}


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
        NOTHING in lines,
        user,
        {name: text_of(meta, name) for name in ("aspect", "opinion", "polarity")} if meta.get("candidate") else {},
        text,
    )


def _missing(line: str) -> Missing:
    parts = [part.strip() for part in line.rsplit("|", 2)]
    aspect, opinion, polarity = [*parts, "", ""][:3]
    return aspect, opinion, polarity
