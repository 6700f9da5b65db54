"""Files of other formats, read back as our rows and labels: what `builder export` wrote must stand in them whole."""

from __future__ import annotations

import ast
import csv
import io
import json
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, cast

from builder.core.records import Polarity, Span
from builder.release.export import annotation_tools, argilla, research, table
from builder.release.export.native_rows import STAND_INS, Labelled, ReviewRow, Spans, TripletLabel, checked, text_of

Pair = tuple[str, str, Polarity]


def read_aste(content: str, mark: str, inclusive: bool, stand_ins: Mapping[str, str] = STAND_INS) -> list[Labelled]:
    """Lines of spaced tokens and a list of triplets; `inclusive`: of a span the first and the last token alone."""

    def span(indices: Sequence[int]) -> Spans:
        assert inclusive or list(indices) == list(range(indices[0], indices[-1] + 1))
        return ((indices[0], indices[-1] + 1),)

    found = []
    for number, line in enumerate(content.removesuffix("\n").split("\n") if content else [], start=1):
        sentence, _, literal = line.rpartition(mark)
        labels = tuple(TripletLabel(span(a), span(o), p) for a, o, p in ast.literal_eval(literal))
        text = text_of(sentence.removesuffix(" ").split(" "), stand_ins)
        found.append(checked(Labelled(str(number), text, labels)))
    return found


def read_gts(content: str) -> list[Labelled]:
    def spans(tagged: str) -> list[Spans]:
        tags = "".join(token[-1] for token in tagged.split(" "))
        return [(match.span(),) for match in re.finditer("BI*", tags)]

    names = {name: polarity for polarity, name in research.SENTIMENTS.items()}
    return [
        checked(Labelled(entry["id"], text_of(entry["sentence"].split(" ")), tuple(
            TripletLabel(aspect, opinion, names[triple["sentiment"]])
            for triple in entry["triples"]
            for aspect in spans(triple["target_tags"])
            for opinion in spans(triple["opinion_tags"])
        )))
        for entry in json.loads(content)
    ]  # fmt: skip


def read_semeval(content: str) -> list[Labelled]:
    def spans(text: str, element: list[list[str]]) -> Spans:
        places = tuple((int(start), int(end)) for start, end in (place.split(":") for place in element[1]))
        assert [text[start:end] for start, end in places] == element[0]
        return places

    names = {name: polarity for polarity, name in research.SEMEVAL_NAMES.items()}
    return [
        checked(Labelled(entry["sent_id"], entry["text"], tuple(
            TripletLabel(*(spans(entry["text"], one[key]) for key in ("Target", "Polar_expression")),
                         names[one["Polarity"]])
            for one in entry["opinions"]
        )))
        for entry in json.loads(content)
    ]  # fmt: skip


def read_bio(content: str) -> list[tuple[str, str, list[Span]]]:
    """(id, text, aspects) of each review."""
    meant = {"\\\\": "\\", "\\n": "\n", "\\r": "\r", "\\t": "\t"}
    found = []
    for block in content.split("\n\n")[:-1]:
        head, *lines = block.split("\n")
        words, tags = zip(*(line.rsplit("\t", 1) for line in lines), strict=True)
        aspects = [match.span() for match in re.finditer("BI*", "".join(tags))]
        name = re.sub(r"\\[\\nrt]", lambda match: meant[match[0]], head.removeprefix("# id = "))
        found.append((name, text_of(words), aspects))
    return found


def read_paper(content: str) -> list[tuple[str, str, list[Pair]]]:
    """(number, text, triplets) of each line."""
    rows = [json.loads(line) for line in content.split("\n") if line]
    return [
        (str(row["id"]), row["question"].partition("context: ")[2], research.parse_paper(row["answer"])) for row in rows
    ]


def read_csv(content: str) -> list[ReviewRow]:
    header, *lines = csv.reader(io.StringIO(content, newline=""), strict=True)
    return _rows(header, lines)


def read_xlsx(content: bytes) -> list[ReviewRow]:
    import openpyxl

    def shown(cell: object) -> Any:
        escaped = re.compile("_x([0-9A-Fa-f]{4})_")
        return escaped.sub(lambda match: chr(int(match[1], 16)), cell) if isinstance(cell, str) else cell

    (sheet,) = openpyxl.load_workbook(io.BytesIO(content), read_only=True).worksheets
    header, *lines = ([shown(cell) for cell in line] for line in sheet.iter_rows(values_only=True))
    return _rows(header, lines)


def _rows(header: Sequence[str], lines: Iterable[Sequence[Any]]) -> list[ReviewRow]:
    def read(value: Any, kind: str) -> Any:
        if value in (None, ""):
            return None
        return json.loads(value) if kind == "json" else float(value) if kind == "number" else value

    kept = [name for name in header if name.startswith(table.KEPT)]
    assert list(header) == [*table.columns(), *kept]
    made: list[dict[str, Any]] = []
    for line in lines:
        cell = dict(zip(header, line, strict=True))
        if not made or made[-1]["id"] != cell["id"]:
            own = {name.removeprefix(table.KEPT): cell[name] or None for name in kept}
            made.append({key: read(cell[key], kind) for key, kind in table.REVIEW.items()} | {"triplets": []})
            made[-1] |= {"columns": own} if kept else {}
        if cell["triplet_id"]:
            named = {key: f"triplet_{key}" if key in table.REVIEW else key for key in table.TRIPLET}
            elements = [key for key, kind in table.TRIPLET.items() if kind == "element"]
            triplet = {key: read(cell[named[key]], kind) for key, kind in table.TRIPLET.items()}
            spans = {key: read(cell[f"{key}_spans"], "json") for key in elements}
            triplet |= {key: spans[key] and {"text": cell[key] or "", "spans": spans[key]} for key in elements}
            made[-1]["triplets"].append(triplet)
    return cast("list[ReviewRow]", made)


def read_label_studio(content: str) -> list[Labelled]:
    return [annotation_tools.task(row) for row in json.loads(content)]


READERS: dict[str, Callable[[str], list[Labelled]]] = {
    "aste-v2": lambda content: read_aste(content, "####", inclusive=False),
    "span-aste": lambda content: read_aste(content, "#### #### ####", inclusive=True),
    "pyabsa": lambda content: read_aste(content, "####", inclusive=True, stand_ins=research.NO_HYPHEN),
    "gts": read_gts,
    "semeval": read_semeval,
    "label-studio": read_label_studio,
    "doccano": lambda content: [annotation_tools.document(json.loads(line)) for line in content.split("\n") if line],
    "argilla": lambda content: [argilla.read_record(row) for row in json.loads(content)],
}
"""The labels of reviews in the formats that hold places."""
