"""The page on which a person accepts or refuses induced words, with the sentences that speak for each.

In: a candidate file, which `builder lexicon induce` wrote. Out: a `LabelSite`. Every answer is written into the file at
once; `take` lays what was accepted over the lexicon of the working directory.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from builder.gold.server import LabelSite
from builder.lexicon.candidate_files import ANSWERS, BETWEEN, COLUMNS, accept, read_cells, write_cells
from builder.stages.parts.build_folders import folders_in

Json = dict[str, Any]
_MEANING, _EVIDENCE, _ACCEPT = (COLUMNS.index(name) for name in ("meaning", "evidence", "accept"))


class CandidateBook:
    """The candidates of a file, in its order."""

    def __init__(self, path: Path, workdir: Path) -> None:
        self._path, self._workdir = path, workdir
        self._lexicon = folders_in(workdir).load_lexicon()
        self._rows = read_cells(path, self._lexicon)

    def list(self) -> Json:
        """Every candidate, and the classes that an aspect may have."""
        return {
            "rows": [self._row(place) for place in range(len(self._rows))],
            "classes": sorted(self._lexicon.classes),
        }

    def answer(self, given: Json) -> Json:
        """`accept` (yes, no or nothing) of the candidate at `place`, with its `meaning`. ValueError for no answer."""
        place = given["place"]
        if type(place) is not int or not 0 <= place < len(self._rows):
            raise ValueError("no such place")
        answer, meaning = str(given["accept"]), str(given["meaning"]).strip()
        if answer not in ANSWERS:
            raise ValueError("the answer is yes or no, or empty")
        self._check(self._rows[place][0], meaning)
        row = [*self._rows[place]]
        row[_MEANING], row[_ACCEPT] = meaning, answer
        write_cells(self._path, [row if number == place else other for number, other in enumerate(self._rows)])
        self._rows[place] = row
        return self._row(place)

    def take(self) -> Json:
        """Lay what was accepted over the lexicon of the working directory. ResourceError where nothing was."""
        overlay = accept(self._path, self._workdir / "lexicon", self._lexicon)
        return {"opinions": len(overlay.opinions), "aspects": len(overlay.aspects)}

    def _check(self, kind: str, meaning: str) -> None:
        if kind == "opinion" and not 1 <= float(meaning) <= 10:
            raise ValueError("a valence is a number from 1 to 10")
        if kind == "aspect" and meaning not in self._lexicon.classes:
            raise ValueError(f"no class {meaning!r}")

    def _row(self, place: int) -> Json:
        cells = dict(zip(COLUMNS, self._rows[place], strict=True))
        return {**cells, "place": place, "evidence": self._rows[place][_EVIDENCE].split(BETWEEN)}


def word_site(book: CandidateBook) -> LabelSite:
    """The page over a file of candidates."""

    def rows(user: str, query: Mapping[str, str]) -> Json:
        return book.list()

    def answer(user: str, given: Json) -> Json:
        return book.answer(given)

    def take(user: str, given: Json) -> Json:
        return book.take()

    return LabelSite(
        "words.html", ("words.js", "page.css"), {"/api/words": rows}, {"/api/answer": answer, "/api/take": take}
    )
