"""Files of labelled sentences, both ways: BIO, ATEPC, APC and TSV, the formats of the augmentation papers' own sets.
Pure.

A sentence that stands in a file once for each of its aspects is one item where only its terms are labelled (ATEPC).
"""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Callable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass
from itertools import pairwise
from typing import Literal, NoReturn, Protocol

from builder.augment.candidates import Mark, Sentence, moved, written
from builder.augment.constraints import Trial
from builder.core.records import Polarity, Span
from builder.release.export.native_rows import text_of, tokens
from builder.reviews.script import HAN

Language = Literal["zh", "en"]


@dataclass(frozen=True, slots=True)
class FileSentence:
    """A sentence, and what the format says of each mark (ATEPC) or of the whole, or of the mark `judged`."""

    sentence: Sentence
    labels: tuple[str, ...] = ()
    judged: int = -1


@dataclass(frozen=True, slots=True)
class FaultyLines:
    """Lines of a file, from 1, that are not of its format; `what` names the first that is wrong."""

    first: int
    last: int
    what: str


Report = Callable[[FaultyLines], None]
"""What a reader calls with the lines that it leaves out."""


def refuse(fault: FaultyLines) -> NoReturn:
    """The report that ends the reading: ValueError."""
    raise ValueError(fault.what)


def language_of(content: str) -> Language:
    """Chinese where a tenth of the letters are Han characters."""
    letters = [char for char in content[:20_000] if char.isalpha()]
    return "zh" if sum(bool(HAN.match(char)) for char in letters) * 10 > len(letters) else "en"


_ID = "# id = "


def _blocks(content: str) -> Iterator[tuple[int, list[str]]]:
    """(number of the first line, lines) between empty lines."""
    block: list[str] = []
    for number, line in enumerate([*content.split("\n"), ""], start=1):
        if line.strip():
            block.append(line.rstrip("\r"))
        elif block:
            yield number - len(block), block
            block = []


def _joined(shown: Sequence[str], language: Language) -> tuple[str, tuple[Span, ...]]:
    """The text of tokens and their places; spaces between in English, in Chinese what a stand-in stands for."""
    parts = list(shown) if language == "en" else ["".join(text_of(list(token))) for token in shown]
    spans: list[Span] = []
    at = 0
    for part in parts:
        spans.append((at, at + len(part)))
        at += len(part) + (language == "en")
    return (" " if language == "en" else "").join(parts), tuple(spans)


def _tagged(numbers: Sequence[int], rows: Sequence[Sequence[str]], spans: Sequence[Span]) -> list[tuple[Span, int]]:
    """(span, row of its first token) of each term. ValueError where an I follows nothing."""
    terms: list[tuple[Span, int]] = []
    before = "O"
    for n, (row, span) in enumerate(zip(rows, spans, strict=True)):
        tag = row[1].partition("-")[0]
        if tag not in ("B", "I", "O") or (tag == "I" and before == "O"):
            raise ValueError(
                f"line {numbers[n]}: {' '.join(row)!r}: no token with B, I or O, or an I that follows nothing"
            )
        if tag == "B":
            terms.append((span, n))
        elif tag == "I":
            terms[-1] = (terms[-1][0][0], span[1]), terms[-1][1]
        before = tag
    return terms


def _checked(numbers: Sequence[int], rows: Sequence[Sequence[str]], columns: int, named: str) -> None:
    for number, row in zip(numbers, rows, strict=True):
        if len(row) != columns:
            raise ValueError(f"line {number}: no {named}: {' '.join(row)!r}")


def read_bio(content: str, language: Language, report: Report = refuse) -> list[FileSentence]:
    """A token and its tag a line, an empty line behind a sentence, named by `# id = …` or by its first line."""
    given = {line.removeprefix(_ID) for _, block in _blocks(content) for line in block if line.startswith(_ID)}
    items: dict[str, FileSentence] = {}
    for first, block in _blocks(content):
        try:
            item = _read_bio_block(first, block, given, language)
            if item.sentence.id in items:
                raise ValueError(f"line {first}: another sentence has the id {item.sentence.id!r} already")
            items[item.sentence.id] = item
        except ValueError as error:
            report(FaultyLines(first, first + len(block) - 1, str(error)))
    return list(items.values())


def _read_bio_block(first: int, block: Sequence[str], given: Set[str], language: Language) -> FileSentence:
    name = next((line.removeprefix(_ID) for line in block if line.startswith(_ID)), _number(first, given))
    lines = [(number, line) for number, line in enumerate(block, start=first) if not line.startswith(_ID)]
    numbers = [number for number, _ in lines]
    rows = [re.split(r"[\t ]+", line.strip(" ")) if language == "en" else line.rsplit("\t", 1) for _, line in lines]
    _checked(numbers, rows, 2, "token and tag")
    if not rows:
        raise ValueError(f"line {first}: an id without a sentence")
    return _item(name, numbers, rows, language)


def _number(first: int, given: Set[str]) -> str:
    """The number of a line as a name, with a mark behind it where a sentence was given that name."""
    name = str(first)
    while name in given:
        name += "'"
    return name


def _item(name: str, numbers: Sequence[int], rows: Sequence[Sequence[str]], language: Language) -> FileSentence:
    text, spans = _joined([row[0] for row in rows], language)
    if empty := [number for number, row in zip(numbers, rows, strict=True) if not row[0].strip()]:
        raise ValueError(f"line {empty[0]}: a token without a character")
    marks = tuple(Mark(*span) for span, _ in _tagged(numbers, rows, spans))
    return FileSentence(Sentence(name, text, spans, marks, None, language))


def write_bio(item: FileSentence, trial: Trial) -> str:
    """A candidate as BIO lines."""
    lines = [f"{token}\t{tag}\n" for token, tag, _ in _retagged(item, trial)]
    return f"{_ID}{' '.join(item.sentence.id.split())}\n" * (item.sentence.language == "zh") + "".join(lines) + "\n"


def _retagged(item: FileSentence, trial: Trial) -> Iterator[tuple[str, str, int]]:
    """(token as written, tag, index of its mark or -1) of a candidate."""
    shown = trial.text if item.sentence.language == "en" else "".join(tokens(trial.text))
    marks = [(mark.start, mark.end) for mark in trial.marks if mark is not None]
    for start, end in retokenised(item.sentence, trial):
        at = next((n for n, (a, b) in enumerate(marks) if a <= start < b), -1)
        yield shown[start:end], "O" if at < 0 else "B" if start == marks[at][0] else "I", at


def retokenised(source: Sentence, trial: Trial) -> list[Span]:
    """The tokens of a candidate: what spaces part, or the source's, and what edits wrote, cut as those are."""
    if source.language == "en":
        return list(_words(trial.text, "en"))
    edits = trial.candidate.edits
    kept = [place for word in source.words if (place := moved(word, edits))]
    edges = {0, len(trial.text), *(edge for span in kept for edge in span)}
    if by_characters(source):
        edges.update(at for start, end in written(edits) for at in range(start, end + 1))
    return list(pairwise(sorted(edges)))


def by_characters(sentence: Sentence) -> bool:
    """Whether its words are single Chinese characters: then they are the format's, not a person's."""
    return all(len(HAN.findall(sentence.text[start:end])) < 2 for start, end in sentence.words)


def read_atepc(content: str, language: Language, report: Report = refuse) -> list[FileSentence]:
    """A token, its tag and the judged polarity a line (-100 elsewhere); blocks of one sentence are one item."""
    merged: dict[tuple[str, tuple[Mark, ...]], tuple[Sentence, dict[int, str]]] = {}
    for first, block in _blocks(content):
        rows, numbers = [line.split() for line in block], range(first, first + len(block))
        try:
            _checked(numbers, rows, 3, "token, tag and polarity")
            text, spans = _joined([row[0] for row in rows], language)
            terms = _tagged(numbers, rows, spans)
        except ValueError as error:
            report(FaultyLines(first, numbers[-1], str(error)))
            continue
        marks = tuple(Mark(*span) for span, _ in terms)
        _, polarities = merged.setdefault((text, marks), (Sentence(str(first), text, spans, marks, None, language), {}))
        polarities |= {n: rows[at][2] for n, (_, at) in enumerate(terms) if rows[at][2] != "-100"}
    return [
        FileSentence(sentence, tuple(polarities.get(n, "-100") for n in range(len(sentence.marks))))
        for sentence, polarities in merged.values()
    ]


def write_atepc(item: FileSentence, trial: Trial) -> str:
    """A block for each aspect with a polarity, or one if there is none."""
    rows = list(_retagged(item, trial))
    judged = [n for n, polarity in enumerate(item.labels) if polarity != "-100"] or [-1]
    return "".join(_block(rows, n, item.labels[n] if n >= 0 else "") for n in judged)


def _block(rows: Sequence[tuple[str, str, int]], judged: int, polarity: str) -> str:
    lines = (
        f"{token} {tag}{'-ASP' * (tag != 'O')} {polarity if at == judged >= 0 else '-100'}\n" for token, tag, at in rows
    )
    return "".join(lines) + "\n"


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
    """How a format is read and written; `head` begins every file."""

    about: str
    read: FileReader
    write: Callable[[FileSentence, Trial], str]
    head: str = ""


def read_apc(content: str, language: Language, report: Report = refuse) -> list[FileSentence]:
    """Three lines a judged aspect: the sentence with $T$ for it, the aspect, its polarity. Others are kept too."""
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
    """(first line, lines): up to three from each line with $T$ on, so that a line too many costs its group alone."""
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
    sentence = Sentence(str(line), text, _words(text, language), marks, polarity or label, language)
    return FileSentence(sentence, (label,), apart.index(span))


def _words(text: str, language: Language) -> tuple[Span, ...]:
    """What stands between spaces in English, characters in Chinese."""
    if language == "en":
        return tuple(match.span() for match in re.finditer(r"\S+", text))
    return tuple((n, n + 1) for n in range(len(text)))


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
        sentence = Sentence(str(line), row[0], _words(row[0], language), (), row[1], language)
        items.append(FileSentence(sentence, (row[1],)))
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
