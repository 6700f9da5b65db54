"""The annotation page as a site: which calls it answers, for one annotator or several.

In: the database of a working directory and a pool. Out: a `LabelSite`. Every annotator has a `DatabaseBook` of their
own; all use one connection, one after the other. On this machine the page also teaches the lexicon (`Teacher`); over a
network nobody changes it.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from builder.core.errors import ConfigError
from builder.core.records import Element
from builder.gold.items import surface
from builder.gold.items import triplet as added_triplet
from builder.gold.passwords import Passwords, read_passwords
from builder.gold.server import LOCAL, LabelSite
from builder.pages.annotation_page import DatabaseBook, read_polarity, read_spans
from builder.teaching.taught import OFTEN, Teacher

Json = dict[str, Any]
WINDOW = 200
"""At most so many items a call."""
_ASSETS = ("text.js", "picker.js", "page.js", "page.css")


def annotation_site(
    connection: sqlite3.Connection,
    pool: str,
    *,
    adjudicate: bool = False,
    order: str = "pool",
    teacher: Teacher | None = None,
    here: bool = True,
) -> tuple[LabelSite, Callable[[str], DatabaseBook]]:
    """The site, and the book of each annotator by name, which is opened with its first call.

    `here`: it is one person's, on this machine, where nobody signs in or out.
    """
    books: dict[str, DatabaseBook] = {}

    def book(annotator: str) -> DatabaseBook:
        if annotator not in books:
            books[annotator] = DatabaseBook(connection, pool, annotator, adjudicate=adjudicate, order=order)
        return books[annotator]

    def head(annotator: str, query: Mapping[str, str]) -> Json:
        return book(annotator).head() | {"teaches": teacher is not None, "here": here}

    def items(annotator: str, query: Mapping[str, str]) -> list[Json]:
        start, count = int(query["start"]), int(query["count"])
        if start < 0 or not 0 < count <= WINDOW:
            raise ValueError("no such items")
        return book(annotator).items(start, count)

    def answer(annotator: str, given: Json) -> Json:
        return book(annotator).answer(_place(given), given)

    def propose(annotator: str, given: Json) -> Json:
        assert teacher is not None
        place = _place(given)
        text = book(annotator).text(place)
        if given.get("wrong"):
            wrong, words = book(annotator).often_wrong(place, OFTEN)
            return teacher.propose_exceptions(text, wrong, words, not book(annotator).has_right_pair(wrong))
        aspect, opinion = (read_spans(given[name], text) for name in ("aspect", "opinion"))
        if aspect is None or opinion is None:
            raise ValueError("an aspect and an opinion are due")
        due = added_triplet(
            Element(surface(text, aspect), aspect),
            Element(surface(text, opinion), opinion),
            read_polarity(given["polarity"]),
        )
        return teacher.propose(text, due)

    def teach(annotator: str, given: Json) -> Json:
        assert teacher is not None
        if given["table"] == "pair":
            place = _place(given)
            return teacher.teach_pair(book(annotator).text(place), book(annotator).often_wrong(place, OFTEN)[0])
        return teacher.teach(str(given["table"]), str(given["word"]), str(given["meaning"]))

    reads = {"/api/head": head, "/api/items": items}
    writes = {"/api/answer": answer}
    slow: frozenset[str] = frozenset()
    if teacher is not None:
        writes |= {"/api/propose": propose, "/api/teach": teach}
        slow = frozenset({"/api/propose"})  # it loads the lexicon and reads the text
    return LabelSite("page.html", _ASSETS, reads, writes, slow), book


def _place(given: Json) -> int:
    if type(given["place"]) is not int:  # True is an int to Python, 0.0 a place to int()
        raise ValueError("place is no number of an item")
    place: int = given["place"]
    return place


def find_users(workdir: Path, annotator: str, host: str, origin: str) -> str | Passwords:
    """Who may use the page: the annotator that is named, on this machine, or all who have a password.

    ConfigError where nobody could sign in, or where a page for one person would be open to a network.
    """
    if annotator and (host != LOCAL or origin):
        raise ConfigError(
            "over a network people sign in, so that --annotator names nobody",
            fix="leave it out, and give each person a password: `builder gold annotate password NAME`",
        )
    if annotator:
        return annotator
    passwords = read_passwords(workdir)
    if not passwords.hashes:
        raise ConfigError(
            "nobody has a password",
            where=str(workdir),
            fix="name yourself with --annotator, or give people passwords: `builder gold annotate password NAME`",
        )
    return passwords
