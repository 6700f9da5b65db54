"""Candidate files: what induction proposes, for a person to accept or drop, and the overlay that becomes of it.

In: `Induced`. Out: a TSV with an empty column `accept`; filled with yes and no it becomes an overlay. The evidence is
sentences; or places (index of the review : offset in its view), so that the file can be shown to people who may not see
the reviews.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from builder.core.errors import ResourceError
from builder.core.wording import counted
from builder.language.lexicon.induce import Induced, WordCandidate
from builder.language.lexicon.overlay import Overlay, Refused, own, save, write
from builder.language.lexicon.resources import Lexicon

COLUMNS = ("kind", "word", "meaning", "confidence", "support", "association", "purity", "evidence", "accept")
BETWEEN = " ／ "
"""What stands between two sentences."""
Sentences = Mapping[tuple[int, int], str]
"""(index of the review, offset in its view) -> the sentence there, the word in 【】."""
ANSWERS = {"yes": True, "y": True, "no": False, "n": False, "": None}
_CLEAR = 0.5
_FIX = "write candidates with `builder words lexicon induce` and change only the columns meaning and accept"


@dataclass(frozen=True, slots=True)
class _CandidateLine:
    """A line of a candidate file; `answer` is None where the person said nothing."""

    line: int
    kind: str
    word: str
    meaning: str
    confidence: float
    answer: bool | None

    def sure(self, confident: float) -> bool:
        return self.confidence >= confident and (self.kind == "aspect" or abs(float(self.meaning) - 5) >= _CLEAR)


def write_candidates(induced: Induced, path: Path, sentences: Sentences | None = None) -> int:
    """Write the candidates, opinions first, most confident first. `meaning` is a valence (1 to 10) or a class of
    aspects. `sentences`: what stands at the places of the evidence, if texts may be shown.

    What people answered in an earlier file stays, with its meaning: at its word, or behind the others. Returns how many
    answers. ResourceError where `path` is no file of candidates.
    """
    answered = _read_answered(path)
    rows = [_cells("opinion", candidate, f"{candidate.valence}", sentences) for candidate in induced.opinions]
    rows += [_cells("aspect", candidate, candidate.cls, sentences) for candidate in induced.aspects]
    kept = [answered.pop((row[0], row[1]), None) for row in rows]
    count = len(answered) + sum(old is not None for old in kept)
    rows = [
        row if old is None else (*row[:2], old[2], *row[3:-1], old[-1]) for row, old in zip(rows, kept, strict=True)
    ]
    save(path, "\t".join(COLUMNS), [*rows, *answered.values()])
    return count


def _read_answered(path: Path) -> dict[tuple[str, str], list[str]]:
    """The answered lines of an earlier file, by kind and word."""
    if not path.exists():
        return {}
    rows: dict[tuple[str, str], list[str]] = {}
    for number, line in enumerate(_read_lines(path)[1:], start=2):
        cells = line.split("\t")
        if line.strip() and len(cells) != len(COLUMNS):
            raise _wrong_width(path, number, cells)
        if line.strip() and cells[-1].strip():
            rows[cells[0], cells[1].strip()] = cells
    return rows


def accept(
    path: Path, directory: Path, lexicon: Lexicon, confident: float | None = None, name: str = "induced"
) -> Overlay:
    """Write the accepted candidates of `path` into the overlay `directory` and return them.

    Accepted is what a person answered with yes. With `confident`, so is what nobody answered and has that confidence
    or more, opinions only if their valence is clear (0.5 or more from 5). A no always stands, and is kept among the
    refused. ResourceError with file:line for a broken line, and if nothing is accepted.
    """
    rows = list(_read(path, lexicon))
    taken = [
        row for row in rows if row.answer or (row.answer is None and confident is not None and row.sure(confident))
    ]
    if not taken:
        raise ResourceError(
            "no candidate is accepted",
            where=str(path),
            fix="write yes into the column accept, or say from which confidence on to take them",
        )
    opinions = {row.word: float(row.meaning) for row in taken if row.kind == "opinion"}
    overlay = Overlay(
        name,
        tuple((word, own(name, f"valence_{value:.1f}")) for word, value in opinions.items()),
        tuple((row.word, row.meaning) for row in taken if row.kind == "aspect"),
        tuple(
            (own(name, f"valence_{value:.1f}"), round(value, 1), "induced from reviews")
            for value in sorted({round(v, 1) for v in opinions.values()})
        ),
        tuple(Refused(row.line, row.word, "declined", row.kind) for row in rows if row.answer is False),
    )
    write(overlay, directory)
    return overlay


def read_cells(path: Path, lexicon: Lexicon) -> list[list[str]]:
    """The cells of every candidate, checked as `accept` checks them."""
    rows = [row.line for row in _read(path, lexicon)]
    lines = path.read_text(encoding="utf-8-sig").splitlines()
    return [lines[number - 1].split("\t") for number in rows]


def write_cells(path: Path, rows: Iterable[Sequence[str]]) -> None:
    """Write the candidates back, with what a person answered."""
    save(path, "\t".join(COLUMNS), rows)


def _cells(kind: str, candidate: WordCandidate, meaning: str, sentences: Sentences | None) -> tuple[str, ...]:
    quoted = (sentences[place] for place in candidate.evidence) if sentences is not None else ()
    places = BETWEEN.join(dict.fromkeys(quoted))
    if sentences is None:
        places = " ".join(f"{review}:{offset}" for review, offset in candidate.evidence)
    confidence, support = f"{candidate.confidence:.3f}", str(candidate.support)
    association, purity = f"{candidate.association:.2f}", f"{candidate.purity:.2f}"
    return kind, candidate.word, meaning, confidence, support, association, purity, places, ""


def _read_lines(path: Path) -> list[str]:
    """The lines of a candidate file, its header first."""
    try:
        lines = path.read_text(encoding="utf-8-sig").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise ResourceError(f"cannot be read: {error}", where=str(path), fix=_FIX) from error
    if not lines or tuple(lines[0].split("\t")) != COLUMNS:
        raise ResourceError("this is no candidate file", where=f"{path}:1", fix=_FIX)
    return lines


def _wrong_width(path: Path, number: int, cells: list[str]) -> ResourceError:
    return ResourceError(
        f"{counted(len(cells), 'cell')} where {len(COLUMNS)} are due", where=f"{path}:{number}", fix=_FIX
    )


def _read(path: Path, lexicon: Lexicon) -> Iterator[_CandidateLine]:
    lines = _read_lines(path)
    classes = lexicon.classes
    seen: dict[tuple[str, str], int] = {}
    for number, line in enumerate(lines[1:], start=2):
        if not line.strip():
            continue
        where, cells = f"{path}:{number}", line.split("\t")
        if len(cells) != len(COLUMNS):
            raise _wrong_width(path, number, cells)
        row = _parse_line(number, cells, where, classes)
        if (first := seen.setdefault((row.kind, row.word), number)) != number:
            raise ResourceError(
                f"the {row.kind} {row.word!r} stands in line {first} already", where=where, fix="keep one"
            )
        yield row


def _parse_line(number: int, cells: list[str], where: str, classes: Collection[str]) -> _CandidateLine:
    kind, word, meaning, confidence, answer = (
        cells[0],
        cells[1].strip(),
        cells[2].strip(),
        cells[3],
        cells[8].strip().lower(),
    )
    if answer not in ANSWERS:
        raise ResourceError(f"{cells[8]!r} in the column accept", where=where, fix="write yes or no or leave it empty")
    if kind not in ("opinion", "aspect") or not word:
        raise ResourceError(f"kind {kind!r} of the word {word!r}", where=where, fix=_FIX)
    try:
        valid = 1 <= float(meaning) <= 10 if kind == "opinion" else meaning in classes
        certain = float(confidence)
    except ValueError:
        valid, certain = False, 0.0
    if not valid:
        wanted = "a valence from 1 to 10" if kind == "opinion" else "one of the classes of aspect_classes.tsv"
        raise ResourceError(
            f"meaning {meaning!r} with confidence {confidence!r}",
            where=where,
            fix=f"write {wanted} into the column meaning",
        )
    return _CandidateLine(number, kind, word, meaning, certain, ANSWERS[answer])
