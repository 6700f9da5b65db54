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

from builder.augment.constraints import Trial
from builder.augment.file_sentence import FileSentence, Language
from builder.augment.records import Mark, Sentence
from builder.augment.tagged_files import read_atepc, read_bio, write_atepc, write_bio
from builder.records import Polarity, Span

_POLARITIES: dict[str, Polarity] = {
    "positive": "POS", "negative": "NEG", "neutral": "NEU",
    "pos": "POS", "neg": "NEG", "neu": "NEU",
    "1": "POS", "-1": "NEG", "0": "NEU",
}  # fmt: skip
_ASPECT = "$T$"

LONGEST_CELL = 100_000
"""Of a TSV file, in characters. The limit of the csv module is one of the whole process, so it is not relied on."""


@dataclass(frozen=True, slots=True)
class FileFormat:
    """How a format is read and written. `read` raises ValueError that names the line; `head` begins every file."""

    about: str
    read: Callable[[str, Language], list[FileSentence]]
    write: Callable[[FileSentence, Trial], str]
    head: str = ""


def read_apc(content: str, language: Language) -> list[FileSentence]:
    """Three lines a judged aspect: the sentence with $T$ in its place, the aspect, its polarity. Other aspects of the
    sentence are kept too.
    """
    lines = [line.strip("\r") for line in content.split("\n")]
    while lines and not lines[-1].strip():
        lines.pop()
    if len(lines) % 3:
        raise ValueError(f"line {len(lines)}: {len(lines)} lines; a sentence, an aspect and a polarity each make three")
    aspects: list[tuple[str, Span, str, int]] = []
    for at in range(0, len(lines), 3):
        text, aspect, label = lines[at], lines[at + 1].strip(), lines[at + 2].strip()
        if text.count(_ASPECT) != 1 or not aspect or not label:
            raise ValueError(f"line {at + 1}: a sentence with one {_ASPECT}, an aspect and a polarity are due")
        start = text.index(_ASPECT)
        aspects.append((text.replace(_ASPECT, aspect), (start, start + len(aspect)), label, at + 1))
    others: dict[str, set[Span]] = {}
    for text, span, _, _ in aspects:
        others.setdefault(text, set()).add(span)
    return [_judged(text, span, label, line, others[text], language) for text, span, label, line in aspects]


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


def read_tsv(content: str, language: Language) -> list[FileSentence]:
    """Rows of a sentence and its label, a heading above them; quoted as csv writes it."""
    items = []
    for n, (line, row) in enumerate(_numbered(content)):
        if n == 0 and row == ["sentence", "label"]:
            continue
        if any(len(cell) > LONGEST_CELL for cell in row):
            raise ValueError(f"line {line}: a cell of more than {LONGEST_CELL:,} characters")
        if len(row) != 2 or not row[0].strip() or not row[1].strip():
            raise ValueError(f"line {line}: a sentence and a label are due: {row!r}")
        words = (
            tuple(match.span() for match in re.finditer(r"\S+", row[0]))
            if language == "en"
            else tuple((i, i + 1) for i in range(len(row[0])))
        )
        items.append(FileSentence(Sentence(str(line), row[0], words, (), row[1], language), (row[1],)))
    return items


def _numbered(content: str) -> Iterator[tuple[int, list[str]]]:
    """(number of its last line, row)"""
    reader = csv.reader(io.StringIO(content), delimiter="\t")
    try:
        for row in reader:
            yield reader.line_num, row
    except csv.Error as error:
        raise ValueError(f"line {reader.line_num}: {error}") from error


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
