"""Files of labelled sentences, both ways: BIO, ATEPC, APC and TSV, the formats of the augmentation papers' own sets.
Pure.

In: a file's text. Out: `FileSentence`s, a sentence each with what is needed to write it back; and a candidate of an
item in the file's own format. A sentence that stands in a file once for each of its aspects (ATEPC, APC) is one item
where only its terms are labelled.
"""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Protocol

from builder.augment.constraints import Trial
from builder.augment.file_sentence import FaultyLines, FileSentence, Language, Report, refuse
from builder.augment.records import Mark, Sentence
from builder.augment.tagged_files import read_atepc, read_bio, write_atepc, write_bio
from builder.core.records import Polarity, Span

_POLARITIES: dict[str, Polarity] = {
    "positive": "POS", "negative": "NEG", "neutral": "NEU",
    "pos": "POS", "neg": "NEG", "neu": "NEU",
    "1": "POS", "-1": "NEG", "0": "NEU",
}  # fmt: skip
_ASPECT = "$T$"

LONGEST_CELL = 100_000
"""Of a TSV file, in characters. The limit of the csv module is one of the whole process, so it is not relied on."""


class FileReader(Protocol):
    """Reads a file's text."""

    def __call__(self, content: str, language: Language, report: Report = refuse) -> list[FileSentence]: ...


@dataclass(frozen=True, slots=True)
class FileFormat:
    """How a format is read and written. `read` reports lines that are not of the format, or raises ValueError that
    names the first; `head` begins every file.
    """

    about: str
    read: FileReader
    write: Callable[[FileSentence, Trial], str]
    head: str = ""


def read_apc(content: str, language: Language, report: Report = refuse) -> list[FileSentence]:
    """Three lines a judged aspect: the sentence with $T$ in its place, the aspect, its polarity. Other aspects of the
    sentence are kept too.
    """
    aspects: list[tuple[str, Span, str, int]] = []
    for first, (text, *rest) in _apc_groups(content):
        aspect, label = (line.strip() for line in (*rest, "", "")[:2])
        if text.count(_ASPECT) != 1 or not aspect or not label:
            what = f"line {first}: a sentence with one {_ASPECT}, an aspect and a polarity are due, a line each"
            report(FaultyLines(first, first + len(rest), what))
            continue
        start = text.index(_ASPECT)
        aspects.append((text.replace(_ASPECT, aspect), (start, start + len(aspect)), label, first))
    others: dict[str, set[Span]] = {}
    for text, span, _, _ in aspects:
        others.setdefault(text, set()).add(span)
    return [_judged(text, span, label, line, others[text], language) for text, span, label, line in aspects]


def _apc_groups(content: str) -> Iterator[tuple[int, list[str]]]:
    """(number of the first line, lines): up to three from each line with $T$ on, and what stands between such groups.
    A line too few or too many costs its own group alone. Empty lines between groups are none.
    """
    group: list[str] = []
    for number, line in enumerate([*content.split("\n"), _ASPECT], start=1):
        ended = _ASPECT in line or (len(group) == 3 and _ASPECT in group[0])
        if ended and group:
            yield number - len(group), group
            group = []
        if group or line.strip():
            group.append(line.strip("\r"))


def _judged(text: str, span: Span, label: str, line: int, spans: set[Span], language: Language) -> FileSentence:
    kept = sorted({span} | {other for other in spans if other[1] <= span[0] or span[1] <= other[0]})
    apart = [
        place
        for n, place in enumerate(kept)
        if place == span or not any(other[0] < place[1] and place[0] < other[1] for other in kept[:n])
    ]
    polarity = _POLARITIES.get(label.lower())
    marks = tuple(Mark(*place, "aspect", polarity if place == span else None) for place in apart)
    words = (
        tuple(match.span() for match in re.finditer(r"\S+", text))
        if language == "en"
        else tuple((n, n + 1) for n in range(len(text)))
    )
    return FileSentence(
        Sentence(str(line), text, words, marks, polarity or label, language), (label,), apart.index(span)
    )


def write_apc(item: FileSentence, trial: Trial) -> str:
    """A candidate as the three lines of a judged aspect."""
    mark = trial.marks[item.judged]
    assert mark is not None, trial.text
    label = item.labels[0] if trial.candidate.label is None else _named(trial.candidate.label, item.labels[0])
    return (
        f"{trial.text[: mark.start]}{_ASPECT}{trial.text[mark.end :]}\n{trial.text[mark.start : mark.end]}\n{label}\n"
    )


def _named(label: str, like: str) -> str:
    """A polarity as the file writes it."""
    names: Mapping[str, str] = {"POS": "Positive", "NEG": "Negative", "NEU": "Neutral"}
    return names.get(label, label) if like.lower() in ("positive", "negative", "neutral") else label


def read_tsv(content: str, language: Language, report: Report = refuse) -> list[FileSentence]:
    """Rows of a sentence and its label, a heading above them; quoted as csv writes it."""
    items = []
    for first, line, row in _numbered(content, report):
        if first == 1 and row == ["sentence", "label"]:
            continue
        long = any(len(cell) > LONGEST_CELL for cell in row)
        if long or len(row) != 2 or not row[0].strip() or not row[1].strip():
            what = (
                f"a cell of more than {LONGEST_CELL:,} characters"
                if long
                else f"a sentence and a label are due: {row!r}"
            )
            report(FaultyLines(first, line, f"line {line}: {what}"))
            continue
        words = (
            tuple(match.span() for match in re.finditer(r"\S+", row[0]))
            if language == "en"
            else tuple((i, i + 1) for i in range(len(row[0])))
        )
        items.append(FileSentence(Sentence(str(line), row[0], words, (), row[1], language), (row[1],)))
    return items


def _numbered(content: str, report: Report) -> Iterator[tuple[int, int, list[str]]]:
    """(number of its first line, of its last, row)"""
    reader = csv.reader(io.StringIO(content), delimiter="\t")
    while True:
        first = reader.line_num + 1
        try:
            row = next(reader, None)
        except csv.Error as error:
            report(FaultyLines(first, reader.line_num, f"line {reader.line_num}: {error}"))
            continue
        if row is None:
            return
        yield first, reader.line_num, row


def write_tsv(item: FileSentence, trial: Trial) -> str:
    """A candidate as a row of text and label."""
    out = io.StringIO()
    csv.writer(out, delimiter="\t", lineterminator="\n").writerow([trial.text, trial.candidate.label or item.labels[0]])
    return out.getvalue()


FORMATS: dict[str, FileFormat] = {
    "bio": FileFormat("BIO of aspect terms, a token and its tag a line", read_bio, write_bio),
    "atepc": FileFormat("BIO with the polarity of one aspect, as PyABSA has it", read_atepc, write_atepc),
    "apc": FileFormat("a sentence with $T$, the aspect, its polarity", read_apc, write_apc),
    "tsv": FileFormat("a sentence and its label, under a heading", read_tsv, write_tsv, "sentence\tlabel\n"),
}
"""Name -> how it is read and written."""
