"""The annotation page: labels of a pool, or decisions of its disputes, read and written for its annotators.

In: the database of a working directory and a pool. Out: a `LabelSite` with the calls that it answers, for one annotator
or several. Every annotator has a `DatabaseBook` of their own; all use one connection, one after the other. The pool is
read once. Every answer is one transaction, done before the page is told. On this machine the page also teaches the
lexicon (`Teacher`); over a network nobody changes it.

What the page sends and shows are plain values: labels, polarities and spans. Reading them is pure.
"""

from __future__ import annotations

import json
import sqlite3
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import asdict
from itertools import pairwise
from pathlib import Path
from typing import Any

from builder.core.errors import ConfigError
from builder.core.records import POLARITIES, VERDICTS, Candidate, Element, Label, Polarity, PoolReview, Span, Triplet
from builder.gold.items import ORDERS, READ, labels_per_hour
from builder.gold.items import triplet as added_triplet
from builder.gold.server import LOCAL, LabelSite, Passwords, read_passwords
from builder.store import db, pool_labels, pools
from builder.teaching.label_sources import OFTEN, Teacher
from builder.teaching.labelling import entered, undecided

# ---- Labels as the page sends and shows them

Json = dict[str, Any]
_LONGEST_NOTE = 2000


def show_candidate(candidate: Candidate) -> Json:
    t = candidate.triplet
    words = {"aspect": t.aspect.text, "opinion": t.opinion.text, "polarity": t.polarity}
    return {"id": candidate.id, **words, "aspect_spans": t.aspect.spans, "opinion_spans": t.opinion.spans}


def read_label(answer: Mapping[str, Any], review: PoolReview, candidate: Candidate) -> Label:
    """A label as the page sends it; what repeats the candidate is no correction."""
    note = str(answer.get("note") or "").strip()
    if len(note) > _LONGEST_NOTE:
        raise ValueError(f"a note has at most {_LONGEST_NOTE} characters")
    verdict = None if answer["label"] is None else next((v for v in VERDICTS if v == answer["label"]), None)
    if verdict is None:
        if answer["label"] is not None:
            raise ValueError(f"unknown label {json.dumps(answer['label'])}")
        return Label(None, note=note)
    polarity = (
        None if answer.get("polarity") in (None, candidate.triplet.polarity) else read_polarity(answer["polarity"])
    )
    if verdict == "YY" and polarity is not None:
        raise ValueError("YY says that the polarity is right")
    given = (read_spans(answer.get(name), review.text) for name in ("aspect", "opinion"))
    due = candidate.triplet.aspect.spans, candidate.triplet.opinion.spans
    aspect, opinion = (None if spans == own else spans for spans, own in zip(given, due, strict=True))
    return Label(verdict, polarity, aspect, opinion, note)


def read_polarity(given: object) -> Polarity:
    """A polarity as the page sends it. ValueError for another word."""
    polarity = next((known for known in POLARITIES if known == given), None)
    if polarity is None:
        raise ValueError("the polarity is POS, NEG or NEU")
    return polarity


def read_spans(given: Any, text: str) -> tuple[Span, ...] | None:
    """Spans of a text as the page sends them; None for none. ValueError for what is none of the text."""
    if given is None:
        return None
    spans = tuple((int(start), int(end)) for start, end in given)
    if (
        not spans
        or not all(0 <= start < end <= len(text) for start, end in spans)
        or not all(a[1] <= b[0] for a, b in pairwise(spans))
    ):
        raise ValueError(f"no spans of the text: {spans}")
    return spans


TOOL = "page"


class DatabaseBook:
    """What one annotator is asked, in order, and where the answers go. Nothing else writes while one is stored."""

    def __init__(
        self,
        connection: sqlite3.Connection,
        pool: str,
        annotator: str,
        *,
        adjudicate: bool = False,
        order: str = "pool",
    ) -> None:
        self._connection, self._annotator, self._adjudicate = connection, annotator, adjudicate
        with db.atomic(connection):
            self._who = entered(connection, annotator)
        self._pool = pools.read(connection, pool)
        margins = pools.margins(connection, pool) if order != "pool" else {}
        self._order = ORDERS[order](self._pool, margins)
        self._reviews = {review.id: review for review in self._pool.reviews}
        self._disputes = undecided(connection, self._pool) if adjudicate else {}
        self._labels = {} if adjudicate else pool_labels.of_pool(connection, pool).get(annotator, {})
        self._checked = set() if adjudicate else pool_labels.checked(connection, pool, annotator)
        self._added: dict[int, list[Candidate]] = {}
        self._places = list(self._list_places())
        of_reviews = [review for review, _ in self._places]  # places of one review lie together
        self._first = {review: place for place, review in reversed([*enumerate(of_reviews)])}
        self._number = Counter(of_reviews)
        self._done = sum(self._is_done(place) for place in range(len(self._places)))
        self._moments = pool_labels.moments(connection, pool, annotator)

    def head(self) -> Json:
        total = len(self._places)
        first = next((place for place in range(total) if not self._is_done(place)), max(total - 1, 0))
        return {
            "pool": self._pool.id, "annotator": self._annotator, "mode": "adjudicate" if self._adjudicate else "label",
            "total": total, "done": self._done, "per_hour": labels_per_hour(self._moments), "next": first,
            "team": self._count_team(),
        }  # fmt: skip

    def _count_team(self) -> dict[str, int]:
        """How many candidates each annotator has labelled; nobody where disputes are decided."""
        labels = {} if self._adjudicate else pool_labels.of_pool(self._connection, self._pool.id, "human")
        proposed = {
            candidate.id for review in self._order for candidate in review.candidates if candidate.n is not None
        }
        return {name: len(proposed & said.keys()) for name, said in labels.items()}

    def items(self, start: int, count: int) -> list[Json]:
        return [self._item(place) for place in range(start, min(start + count, len(self._places)))]

    def answer(self, place: int, answer: Mapping[str, Any]) -> Json:
        if not 0 <= place < len(self._places):
            raise ValueError("no such place")
        before = self._is_done(place)
        try:
            with db.atomic(self._connection):
                _ANSWERS[str(answer["op"])](self, place, answer)
        except sqlite3.OperationalError as error:
            raise db.translated(error, Path(db.NAME)) from error
        self._done += self._is_done(place) - before
        if answer["op"] in _WORK:
            self._moments.append(time.time())
        return {"item": self._item(place), "done": self._done, "per_hour": labels_per_hour(self._moments)}

    def text(self, place: int) -> str:
        return self._reviews[self._places[place][0]].text

    def often_wrong(self, place: int, often: int) -> tuple[Triplet, list[str]]:
        """The candidate at a place, and those of its words that stand in `often` labelled candidates or more, all of
        them wrong as they are (NX without a correction).
        """
        _, candidate = self._candidate(place)
        everything = [
            (c.triplet, self._labels[c.id]) for r in self._order for c in r.candidates if c.id in self._labels
        ]
        words = []
        for name in ("aspect", "opinion"):
            word = getattr(candidate.triplet, name).text
            labels = [label for triplet, label in everything if getattr(triplet, name).text == word]
            wrong = all(label.label == "NX" and label.aspect is None and label.opinion is None for label in labels)
            words += [word] if wrong and len(labels) >= often else []
        return candidate.triplet, words

    def has_right_pair(self, wrong: Triplet) -> bool:
        """Whether some label says that the words of a wrong triplet are a pair elsewhere."""
        return any(
            candidate.triplet.aspect.text == wrong.aspect.text
            and candidate.triplet.opinion.text == wrong.opinion.text
            and self._labels[candidate.id].label in ("YY", "YN")
            for review in self._order
            for candidate in review.candidates
            if candidate.id in self._labels
        )

    def label(self, place: int, answer: Mapping[str, Any]) -> None:
        """`label` (null: unsure), what would be right (`polarity`, `aspect`, `opinion` as spans), and a `note`."""
        review, candidate = self._candidate(place)
        given = read_label(answer, review, candidate)
        if self._adjudicate:
            if given.label is None:
                raise ValueError("a decision is YY, YN or NX")
            pool_labels.decide(self._connection, self._who, [(candidate.id, given)], TOOL)
        else:
            pool_labels.put(self._connection, self._who, [(candidate.id, given)], TOOL)
        self._labels[candidate.id] = given

    def clear(self, place: int, answer: Mapping[str, Any]) -> None:
        _, candidate = self._candidate(place)
        if self._adjudicate:
            pool_labels.undecide(self._connection, candidate.id)
        else:
            pool_labels.drop(self._connection, self._who, candidate.id)
        self._labels.pop(candidate.id, None)

    def add(self, place: int, answer: Mapping[str, Any]) -> None:
        """A triplet that nobody proposed: spans of `aspect` and `opinion`, `polarity`."""
        review = self._reviews[self._places[place][0]]
        aspect, opinion = (read_spans(answer[name], review.text) for name in ("aspect", "opinion"))
        if aspect is None or opinion is None:
            raise ValueError("an aspect and an opinion are due")
        polarity = read_polarity(answer["polarity"])
        t = added_triplet(Element.at(review.text, aspect), Element.at(review.text, opinion), polarity)
        if any(candidate.n is not None and candidate.triplet.key == t.key for candidate in review.candidates):
            raise ValueError("this triplet is a candidate already: label it 1 (YY)")
        i = pools.add(self._connection, review.id, Candidate(None, t))
        pool_labels.put(self._connection, self._who, [(i, Label("YY"))], TOOL)
        if self._adjudicate:
            pool_labels.decide(self._connection, self._who, [(i, Label("YY"))], TOOL)
        mine = self._added.setdefault(review.id, [])
        if all(triplet.id != i for triplet in mine):
            mine.append(Candidate(None, t, (), i))

    def remove(self, place: int, answer: Mapping[str, Any]) -> None:
        """Take back an added triplet: the one with `id`, or the last."""
        mine = self._added.get(self._places[place][0], [])
        matching = [added for added in mine if answer.get("id") in (None, added.id)]
        if not matching:
            raise ValueError("nothing was added here")
        if self._adjudicate:
            pool_labels.undecide(self._connection, matching[-1].id)
        pool_labels.drop(self._connection, self._who, matching[-1].id)
        mine.remove(matching[-1])

    def check(self, place: int, answer: Mapping[str, Any]) -> None:
        """Nothing is missing in this review."""
        pool_labels.check(self._connection, self._who, [self._places[place][0]], TOOL)
        self._checked.add(self._places[place][0])

    def uncheck(self, place: int, answer: Mapping[str, Any]) -> None:
        pool_labels.uncheck(self._connection, self._who, self._places[place][0])
        self._checked.discard(self._places[place][0])

    def _list_places(self) -> Iterator[tuple[int, Candidate | None]]:
        """(review id, candidate or None) in the pool's order; the disputes alone where they are decided."""
        for review in self._order:
            self._added[review.id] = [
                candidate for candidate in review.candidates if candidate.n is None and candidate.id in self._labels
            ]
            if self._adjudicate:
                yield from ((review.id, candidate) for candidate in review.candidates if candidate.id in self._disputes)
            else:
                own = [candidate for candidate in review.candidates if candidate.n is not None]
                yield from ((review.id, candidate) for candidate in own)
                if not own or review.stratum == READ:  # what is missing is asked for
                    yield review.id, None

    def _candidate(self, place: int) -> tuple[PoolReview, Candidate]:
        review, candidate = self._places[place]
        if candidate is None:
            raise ValueError("there is no candidate here")
        return self._reviews[review], candidate

    def _is_done(self, place: int) -> bool:
        review, candidate = self._places[place]
        if candidate is not None:
            return candidate.id in self._labels
        return review in self._checked or bool(self._added[review])

    def _item(self, place: int) -> Json:
        i, candidate = self._places[place]
        review = self._reviews[i]
        nth = place - self._first[i] + 1
        item: Json = {
            "place": place, "text": review.text, "key": review.key, "of": self._number[i], "nth": nth,
            "checked": i in self._checked, "missing": [show_candidate(added) for added in self._added[i]],
            "candidate": None, "done": self._is_done(place),
        }  # fmt: skip
        if candidate is None:
            return item
        label = self._labels.get(candidate.id)
        item |= {"candidate": show_candidate(candidate), "label": None if label is None else asdict(label)}
        return item | {"said": self._disputes.get(candidate.id, "")}


_WORK = frozenset({"label", "add", "check"})
"""Answers that are work done, for the pace; others take one back."""
_ANSWERS = {name: getattr(DatabaseBook, name) for name in ("label", "clear", "add", "remove", "check", "uncheck")}


# ---- The site

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
        due = added_triplet(Element.at(text, aspect), Element.at(text, opinion), read_polarity(given["polarity"]))
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
        fix = "name yourself with --annotator, or give people passwords: `builder gold annotate password NAME`"
        raise ConfigError("nobody has a password", where=str(workdir), fix=fix)
    return passwords
