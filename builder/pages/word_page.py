"""The page on which a person accepts or refuses induced words, with the sentences that speak for each.

In: a candidate file, which `builder words lexicon induce` wrote, or the sheet of a domain pack. Out: a `LabelSite`.
Every answer is written into the file at once; `take` lays what was accepted over the lexicon of the working directory,
or writes the lexicons of the pack.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, Protocol

from builder.core.settings import CORE
from builder.gold.server import LabelSite
from builder.language.lexicon.domain_sheet import (
    Proposal,
    choose_roles,
    is_class_name,
    order_proposals,
    read_sheet,
    write_lexicons,
    write_sheet,
)
from builder.language.lexicon.folders import folders_in
from builder.language.lexicon.induce import ANSWERS, BETWEEN, COLUMNS, accept, read_cells, read_valence, write_cells
from builder.language.lexicon.resources import load_lexicon
from builder.language.lexicon.tsv_rows import ROLES

Json = dict[str, Any]
_MEANING, _EVIDENCE, _ANSWER = (COLUMNS.index(name) for name in ("meaning", "evidence", "answer"))


class WordBook(Protocol):
    """Words to accept or refuse."""

    def list(self) -> Json:
        """All of them, and the classes that an aspect may have; for a domain pack also the `roles` of classes."""

    def answer(self, given: Json) -> Json:
        """Keep the answer to one. ValueError for no answer."""

    def change_class(self, given: Json) -> Json:
        """Give a class of aspects another name and role; what `list` gives then."""

    def take(self) -> Json:
        """Put what was accepted into force; how many `opinions` and `aspects` these are."""


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
        """`answer` (yes, no or nothing) of the candidate at `place`, with its `meaning`. ValueError for no answer."""
        place = given["place"]
        if type(place) is not int or not 0 <= place < len(self._rows):
            raise ValueError("no such place")
        answer, meaning = str(given["answer"]), str(given["meaning"]).strip()
        if answer not in ANSWERS:
            raise ValueError("the answer is yes or no, or empty")
        self._check(self._rows[place][0], meaning)
        row = [*self._rows[place]]
        row[_MEANING], row[_ANSWER] = meaning, answer
        write_cells(self._path, [row if number == place else other for number, other in enumerate(self._rows)])
        self._rows[place] = row
        return self._row(place)

    def change_class(self, given: Json) -> Json:
        """ValueError: the classes are those of the lexicon."""
        raise ValueError("classes of the lexicon have their names")

    def take(self) -> Json:
        """Lay what was accepted over the lexicon of the working directory. ResourceError where nothing was."""
        overlay = accept(self._path, self._workdir / "lexicon", self._lexicon)
        return {"opinions": len(overlay.opinions), "aspects": len(overlay.aspects)}

    def _check(self, kind: str, meaning: str) -> None:
        if kind == "opinion":
            read_valence(meaning)
        if kind == "aspect" and meaning not in self._lexicon.classes:
            raise ValueError(f"no class {meaning!r}")

    def _row(self, place: int) -> Json:
        cells = dict(zip(COLUMNS, self._rows[place], strict=True))
        return {**cells, "place": place, "evidence": self._rows[place][_EVIDENCE].split(BETWEEN)}


class SheetBook:
    """The proposals of a domain pack, the most valuable first."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._core = load_lexicon(domain=CORE)
        self._rows = order_proposals(read_sheet(folder))

    def list(self) -> Json:
        """Every proposal, the classes of its aspects with their roles, and the roles there are."""
        mine = choose_roles((row for row in self._rows if row.meaning not in ROLES), self._core)
        own_classes = [
            {"name": name, "role": self._core.classes.get(name, role), "known": name in self._core.classes}
            for name, role in sorted(mine.items())
        ]
        classes = [*ROLES, *sorted({*mine, *self._core.classes})]
        return {
            "rows": [self._row(place) for place in range(len(self._rows))],
            "classes": classes,
            "own_classes": own_classes,
            "roles": ROLES,
        }

    def answer(self, given: Json) -> Json:
        """`answer` (yes, no or nothing) of the proposal at `place`, with its `meaning`. ValueError for no answer."""
        place, answer, meaning = given["place"], str(given["answer"]), str(given["meaning"]).strip()
        if type(place) is not int or not 0 <= place < len(self._rows):
            raise ValueError("no such place")
        if answer not in ANSWERS:
            raise ValueError("the answer is yes or no, or empty")
        row = self._rows[place]
        if row.kind == "opinion":
            read_valence(meaning)
        role = row.role
        if row.kind == "aspect":
            _check_name(meaning)
            known = choose_roles((other for other in self._rows if other is not row), self._core)
            role = "" if meaning in ROLES else self._core.classes.get(meaning) or known.get(meaning, row.role)
        self._rows[place] = replace(row, answer=answer, meaning=meaning, role=role)
        write_sheet(self._folder, self._rows)
        return self._row(place)

    def change_class(self, given: Json) -> Json:
        """All words of the class `name` belong to the class `new` from now on, and that has the role `role`."""
        name, new, role = str(given["name"]), str(given["new"]).strip(), str(given["role"])
        _check_name(new)
        if role not in ROLES:
            raise ValueError(f"no role {role!r}")
        role = self._core.classes.get(new, role)
        moved = [row.kind == "aspect" and row.meaning in (name, new) for row in self._rows]
        self._rows = [
            replace(row, meaning=new, role=role) if is_moved else row
            for row, is_moved in zip(self._rows, moved, strict=True)
        ]
        write_sheet(self._folder, self._rows)
        return self.list()

    def take(self) -> Json:
        """Write the lexicons of the pack."""
        made = write_lexicons(self._folder, self._folder.resolve().name, self._rows, self._core)
        return {"opinions": made.opinions, "aspects": made.aspects}

    def _row(self, place: int) -> Json:
        row: Proposal = self._rows[place]
        return {
            "place": place,
            "kind": row.kind,
            "word": row.word,
            "meaning": row.meaning,
            "support": row.reviews,
            "confidence": row.confidence,
            "answer": row.answer.strip().lower(),
            "evidence": [row.sentence],
        }


def _check_name(name: str) -> None:
    if not is_class_name(name):
        raise ValueError("the name of a class is one word, such as hotel.room")


def word_site(book: WordBook) -> LabelSite:
    """The page over words to accept or refuse."""

    def rows(user: str, query: Mapping[str, str]) -> Json:
        return book.list()

    def answer(user: str, given: Json) -> Json:
        return book.answer(given)

    def take(user: str, given: Json) -> Json:
        return book.take()

    def change_class(user: str, given: Json) -> Json:
        return book.change_class(given)

    writes = {"/api/answer": answer, "/api/take": take, "/api/class": change_class}
    return LabelSite("words.html", ("text.js", "words.js", "page.css"), {"/api/words": rows}, writes)
