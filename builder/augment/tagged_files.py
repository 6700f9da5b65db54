"""BIO and ATEPC: files with a token and its tag a line, both ways. Pure.

In: a file's text, or a candidate of one of its sentences. Out: `FileSentence`s, or lines of the same format.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence, Set
from itertools import pairwise

from builder.augment.constraints import Trial
from builder.augment.file_sentence import FaultyLines, FileSentence, Language, Report, refuse
from builder.augment.records import Mark, Sentence, moved, written
from builder.core.records import Span
from builder.release.export.triplet_labels import text_of, tokens
from builder.reviews.script import HAN

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
    """The text of tokens and their places: spaces between in English; in Chinese nothing, and a stand-in is the space
    it stands for.
    """
    parts = list(shown) if language == "en" else ["".join(text_of(list(token))) for token in shown]
    spans: list[Span] = []
    at = 0
    for part in parts:
        spans.append((at, at + len(part)))
        at += len(part) + (language == "en")
    return (" " if language == "en" else "").join(parts), tuple(spans)


def _tagged(numbers: Sequence[int], rows: Sequence[Sequence[str]], spans: Sequence[Span]) -> list[tuple[Span, int]]:
    """(span, row of its first token) of each term; `numbers` are the lines of the rows. ValueError where an I follows
    nothing.
    """
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
    """A token and its tag a line, an empty line behind each sentence; `# id = …` names one, no two the same. The
    others are named by their first line.
    """
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
    """The tokens of a candidate: in English what stands between spaces; in Chinese the source's where they are
    untouched, and what an edit wrote is one token, or cut into characters where the source's tokens are.
    """
    if source.language == "en":
        return [match.span() for match in re.finditer(r"\S+", trial.text)]
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
    """A token, its tag and the polarity of the judged aspect a line (-100 elsewhere). Blocks that differ in that
    alone are one item.
    """
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
