"""The page on which a person accepts or refuses proposed words, with a sentence that speaks for each.

In: the sheet of a domain pack. Out: a `LabelSite`. Every answer is written into the sheet at once; `take` writes the
lexicons of the pack.
"""

from __future__ import annotations

from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

from builder.core.records import POLARITIES
from builder.gold.server import LabelSite
from builder.language.lexicon.domain_sheet import (
    ANSWERS,
    choose_roles,
    is_class_name,
    order_proposals,
    read_sheet,
    write_lexicons,
    write_sheet,
)
from builder.language.lexicon.tsv_rows import ROLES
from builder.teaching.domain_packs import load_below

Json = dict[str, Any]


class SheetBook:
    """The proposals of a domain pack, the most valuable first."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._core = load_below(folder)
        self._rows = order_proposals(read_sheet(folder))

    def list(self) -> Json:
        """Every proposal, the classes of its aspects with their roles, and the roles there are."""
        mine = choose_roles((row for row in self._rows if row.meaning not in ROLES), self._core)
        own_classes = [
            {"name": name, "role": self._core.classes.get(name, role), "known": name in self._core.classes}
            for name, role in sorted(mine.items())
        ]
        classes = [*ROLES, *sorted({*mine, *self._core.classes})]
        rows = [self._row(place) for place in range(len(self._rows))]
        return {"rows": rows, "classes": classes, "own_classes": own_classes, "roles": ROLES}

    def answer(self, given: Json) -> Json:
        """`answer` (yes, no or nothing) of the proposal at `place`, with its `meaning`. ValueError for no answer."""
        place, answer, meaning = given["place"], str(given["answer"]), str(given["meaning"]).strip()
        if type(place) is not int or not 0 <= place < len(self._rows):
            raise ValueError("no such place")
        if answer not in ANSWERS:
            raise ValueError("the answer is yes or no, or empty")
        row = self._rows[place]
        if row.kind == "opinion" and meaning not in POLARITIES:
            raise ValueError(f"{meaning!r} is no polarity: write POS, NEG or NEU")
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
        row = self._rows[place]
        return {"place": place, **asdict(row), "answer": row.answer.strip().lower()}


def _check_name(name: str) -> None:
    if not is_class_name(name):
        raise ValueError("the name of a class is one word, such as hotel.room")


def word_site(book: SheetBook) -> LabelSite:
    """The page over words to accept or refuse."""
    writes = {"/api/answer": book.answer, "/api/class": book.change_class, "/api/take": lambda given: book.take()}
    asked = {path: lambda user, given, write=write: write(given) for path, write in writes.items()}
    reads = {"/api/words": lambda user, query: book.list()}
    return LabelSite("words.html", ("text.js", "words.js", "page.css"), reads, asked)
