"""What `builder extract` prints or writes: answers as JSON lines, as CSV with a triplet a row, or laid out for people.

In: answers, which are texts with their ids and triplets. Out: pieces of text to write one after the other. Pure.
"""

from __future__ import annotations

import csv
import io
import itertools
import json
import unicodedata
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import partial

from builder.core.errors import ConfigError, printable, shortened
from builder.core.records import Triplet
from builder.release.export.native_rows import extracted
from builder.reviews.script import HAN

_BOLD, _UNDERLINED, _CYAN = "1", "4", "36"
_COLOURS = {"POS": "32", "NEG": "31", "NEU": "33"}
"""Codes of a terminal: green, red, yellow."""
_COLUMNS = (
    "id", "text", "aspect", "aspect_full", "aspect_spans", "aspect_start", "aspect_end", "opinion", "opinion_full",
    "opinion_spans", "opinion_start", "opinion_end", "polarity", "valence", "source", "rules", "aspect_full_spans",
    "aspect_category", "owner", "owner_spans", "opinion_full_spans", "opinion_category", "confidence", "verdict",
    "sources", "triplet_id",
)  # fmt: skip
LARGEST_CSV = 1 << 30
"""Bytes of a text in all rows of its triplets, which repeat it, at three a character; one of 10,000 characters has some
60 million.
"""


@dataclass(frozen=True, slots=True)
class AnsweredText:
    """A text with the triplets that were found in it. `id` is None where the user gave the text alone."""

    id: object
    text: str
    triplets: tuple[Triplet, ...]


def json_lines(answers: Iterable[AnsweredText], bracketed: bool = False) -> Iterator[str]:
    """A JSON object a text; `bracketed` writes attributes as the paper does, 餐點[口感]."""
    for number, answer in enumerate(answers, start=1):
        triplets = [extracted(triplet, bracketed) for triplet in answer.triplets]
        key = number if answer.id is None else answer.id
        yield json.dumps({"id": key, "triplets": triplets}, ensure_ascii=False) + "\n"


def csv_rows(answers: Iterable[AnsweredText], bracketed: bool = False) -> Iterator[str]:
    """A row a triplet, and a row for a text without any. Spans and rules are JSON; bounds are code points."""
    yield _csv_line(_COLUMNS)
    for number, answer in enumerate(answers, start=1):
        key = number if answer.id is None else answer.id
        size = 3 * len(answer.text) * len(answer.triplets)
        if size > LARGEST_CSV:
            what = f"text {key} and its {len(answer.triplets):,} triplets would take {size >> 20:,} MB in a CSV"
            raise ConfigError(what, fix="write JSON lines: --output FILE.jsonl, or --format jsonl")
        for triplet in answer.triplets or (None,):
            cells: dict[str, object] = {"id": key, "text": answer.text}
            if triplet is not None:
                cells |= {**extracted(triplet, bracketed), **_bounds(triplet)}
            yield _csv_line([_csv_cell(cells.get(name)) for name in _COLUMNS])


def laid_out(answers: Iterable[AnsweredText], bracketed: bool = False, colour: bool = False) -> Iterator[str]:
    """For people: each text, its triplets below in columns. `colour` marks aspects and opinions with terminal codes."""
    for number, answer in enumerate(answers):
        label = "" if answer.id is None else f"{printable(str(answer.id))}  "
        lines = [label + _marked(answer, colour)]
        rows = [extracted(triplet, bracketed) for triplet in answer.triplets]
        cells = [[_shown(str(row[name])) for name in ("aspect", "opinion", "polarity")] for row in rows]
        widths = [max(map(display_width, column)) for column in zip(*cells, strict=True)]
        for row in cells:
            tint = _COLOURS[row[2]]
            styles = ((_CYAN,), (_BOLD, tint), (tint,)) if colour else ((), (), ())
            padding = [" " * (width - display_width(cell)) for cell, width in zip(row, widths, strict=True)]
            parts = [_styled(cell, *style) + pad for cell, style, pad in zip(row, styles, padding, strict=True)]
            lines.append("  " + "  ".join(parts).rstrip())
        if not rows:
            lines.append("  no triplet" if HAN.search(answer.text) else "  no triplet: no Chinese character in it")
        yield ("\n" if number else "") + "\n".join(lines) + "\n"


_LONGEST = 1_000
"""Characters of a text that fill half a screen; of a longer one its two ends are shown."""
Writer = Callable[[Iterable[AnsweredText]], Iterator[str]]
SHAPES: dict[str, Callable[..., Iterator[str]]] = {"jsonl": json_lines, "csv": csv_rows, "table": laid_out}
"""What `--format` takes."""


def writer(shape: str, bracketed: bool = False, colour: bool = False) -> Writer:
    """The function that writes answers in a shape of `SHAPES`; ConfigError for an unknown one."""
    if shape not in SHAPES:
        raise ConfigError(f"unknown format {shape!r}", fix="known: " + ", ".join(SHAPES))
    options = {"colour": colour} if shape == "table" else {}
    return partial(SHAPES[shape], bracketed=bracketed, **options)


def display_width(text: str) -> int:
    """Columns of a terminal that a text takes: two for wide characters, none for combining ones."""
    return sum(
        0 if unicodedata.combining(char) else 2 if unicodedata.east_asian_width(char) in "WF" else 1 for char in text
    )


def _marked(answer: AnsweredText, colour: bool) -> str:
    """The text on one line; in colour, aspects are underlined and opinions have the colour of their polarity."""
    if not colour or len(answer.text) > _LONGEST:
        return shortened(_shown(answer.text), _LONGEST)
    styles: dict[int, set[str]] = {}
    for triplet in answer.triplets:
        marks = (
            (triplet.aspect.spans, (_UNDERLINED, _CYAN)),
            (triplet.opinion.spans, (_BOLD, _COLOURS[triplet.polarity])),
        )
        for spans, style in marks:
            for at in itertools.chain.from_iterable(range(*span) for span in spans):
                styles.setdefault(at, set()).update(style)
    runs = itertools.groupby(range(len(answer.text)), key=lambda at: sorted(styles.get(at, ())))
    return "".join(_styled(_shown("".join(answer.text[at] for at in places)), *style) for style, places in runs)


def _shown(text: str) -> str:
    """On one line, and nothing in it that a terminal would obey."""
    return printable(text.replace("\r\n", "\n").replace("\n", " ").replace("\t", " "), kept="\u3000\u200d")


def _styled(text: str, *codes: str) -> str:
    return f"\x1b[{';'.join(codes)}m{text}\x1b[0m" if codes else text


def _bounds(triplet: Triplet) -> dict[str, int]:
    elements = {"aspect": triplet.aspect, "opinion": triplet.opinion}
    starts = {f"{name}_start": element.spans[0][0] for name, element in elements.items()}
    return starts | {f"{name}_end": element.spans[-1][1] for name, element in elements.items()}


def _csv_cell(value: object) -> object:
    return json.dumps(value) if isinstance(value, list) else value


def _csv_line(cells: Iterable[object]) -> str:
    line = io.StringIO()
    csv.writer(line, lineterminator="\n").writerow(cells)
    return line.getvalue()
