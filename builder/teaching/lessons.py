"""What labelled reviews teach: aspects, and how rules and the shipped reader are weighed.

In: reviews with their triplets, single triplets that people judged, and the words, rules and model so far. Out: aspects
that the lexicon lacks, and weights of rules and reader. An aspect is learnt where labels of several reviews name it.
Opinions are not learnt, since those of so few reviews hardly come again. No rule is so often wrong that 100 labels
would switch it off, and the reader's last layers learn nothing that holds (docs/results/domains.md).
Labels move the weights of `Combiner`, that start from the shipped ones.
"""

from __future__ import annotations

import tempfile
from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from builder.core.errors import InputError
from builder.core.records import Element, Review, Triplet
from builder.engine import RuleEngine
from builder.engine.reader import Reader, Reading, Recipe, make_reader, to_text
from builder.gold.metrics.scores import Answer, name_answer, right
from builder.language.lexicon.categories import guess_class
from builder.language.lexicon.folders import Folders
from builder.language.lexicon.overlay import Overlay, write
from builder.language.lexicon.resources import Lexicon
from builder.learning.task import Example
from builder.pipeline import layers
from builder.pipeline.judging import Rated, hold_one
from builder.reviews.script import HAN
from builder.reviews.text import view

if TYPE_CHECKING:
    from builder.models.combiner import Combiner
    from builder.models.text_reading import PairOdds, Place, TextReading

LABELS = "labels"
"""The name of what labels teach among the imported words."""
_SHORTEST, _LONGEST = 2, 8
_LEAST, _SHARE = 2, 0.1
"""Reviews whose labels name an aspect, at least, and of all reviews that hold the word; measured in
docs/results/rules.md.
"""
Rows = Sequence[Mapping[str, Any]]
KnownReadings = dict[tuple[str, frozenset[str]], Reading]


@dataclass(frozen=True, slots=True)
class TaughtReview:
    """A labelled review as the engine reads it. `wrong`: triplets that people refused in a review that nobody read in
    full; None where the triplets are all that there are.
    """

    key: str
    reading: Reading
    triplets: tuple[Triplet, ...]
    wrong: tuple[Triplet, ...] | None = None

    @property
    def answers(self) -> list[Answer]:
        return [name_answer(triplet) for triplet in self.triplets]


@dataclass(frozen=True, slots=True)
class Lessons:
    """What labels teach: aspects with their class, and weights of rules and reader, None where they stay or no model is
    shipped.
    """

    aspects: Mapping[str, str]
    combiner: Combiner | None = None


@dataclass(frozen=True, slots=True)
class SharedJudge:
    """The shipped model, and what its reader says of each labelled review, by text."""

    rated: Rated
    known: dict[str, TextReading]
    asked: dict[str, dict[Place, PairOdds | None]] = field(default_factory=dict)

    @classmethod
    def read(cls, folder: Path, taught: Sequence[TaughtReview], engine: RuleEngine) -> SharedJudge:
        """The model of a folder reads the reviews, and what the rules find in them so far."""
        from builder.models.shipped import open_model, read_items
        from builder.models.text_reading import place_of

        model = open_model(folder)
        readings = {review.reading.text: review.reading for review in taught}
        items = [_ask_about(reading, engine.extract(reading.doc)) for reading in readings.values()]
        judge = cls(Rated(model, model.calibration), {})
        for text, item, read in zip(readings, items, read_items(model.reader, items), strict=True):
            proposed = {place_of(triplet) for _, triplet in read.proposals}
            judge.known[text] = replace(read, odds={place: read.odds[place] for place in proposed})
            judge.asked[text] = {place: read.odds.get(place) for place in map(place_of, item.triplets)}
        return judge

    @property
    def combiner(self) -> Combiner:
        return self.rated.model.combiner

    def weigh_by(self, combiner: Combiner) -> SharedJudge:
        """The same with other weights."""
        return replace(self, rated=replace(self.rated, model=self.rated.model.weigh_by(combiner)))

    def set_edges(self, margin: float) -> SharedJudge:
        """The same with another `Combiner.edge_margin`."""
        combiner = replace(self.combiner, edge_margin=margin)
        return replace(self, rated=replace(self.rated, model=replace(self.rated.model, combiner=combiner)))

    def ask(self, reading: Reading, ruled: Sequence[Triplet]) -> TextReading:
        """What the reader says of a labelled review, and of these triplets in it: each is asked about once."""
        from builder.models.shipped import read_items
        from builder.models.text_reading import place_of

        known, asked = self.known[reading.text], self.asked[reading.text]
        places = {place_of(triplet) for triplet in ruled}
        if places - known.odds.keys() - asked.keys():
            (more,) = read_items(self.rated.model.reader, [_ask_about(reading, ruled)])
            asked.update((place, more.odds.get(place)) for place in places)
        own = {place: odds for place in places if (odds := asked.get(place))}
        return replace(known, odds=own | known.odds)

    def hold(self, engine: RuleEngine, reading: Reading) -> list[Triplet]:
        """What rules and model hold together of a labelled review, in offsets of its text."""
        ruled = engine.extract(reading.doc)
        answers = self.combiner.read_review(ruled, self.ask(reading, ruled))
        held = hold_one(self.rated, engine, reading.doc, ruled, *answers)
        return [to_text(triplet, reading.view, reading.text) for triplet in held]

    def learn(self, taught: Sequence[TaughtReview], engine: RuleEngine) -> Combiner:
        """The weights after labels. Of a review that nobody read in full, only triplets that somebody judged count."""
        from builder.models.combiner import describe_all

        described: list[list[float]] = []
        named: list[bool] = []
        for review in taught:
            reading, refused = review.reading, [name_answer(triplet) for triplet in review.wrong or ()]
            ruled = engine.extract(reading.doc)
            for triplet, numbers in describe_all(ruled, self.ask(reading, ruled)):
                answer = [name_answer(to_text(triplet, reading.view, reading.text))]
                is_right = right(review.answers, answer, "lenient") > 0
                if review.wrong is None or is_right or right(refused, answer, "lenient"):
                    described.append(numbers)
                    named.append(is_right)
        return self.combiner.adapt(described, named)


def _ask_about(reading: Reading, ruled: Sequence[Triplet]) -> Example:
    return Example("", reading.view.text, tuple(ruled))


def learn(taught: Sequence[TaughtReview], reader: Reader, folders: Folders, weighed: bool = True) -> Lessons:
    """What these reviews teach the words and the model of the folders; without `weighed` the weights of rules and
    reader stay as they are.
    """
    aspects = learn_aspects(taught, reader.lexicon)
    if not weighed or not folders.model:
        return Lessons(aspects)
    judge = SharedJudge.read(folders.model, taught, reader.engine)
    with lay_aspects(aspects, folders, reader) as wider:
        return Lessons(aspects, judge.learn(read_again(taught, wider, aspects), wider.engine))


def read_taught(rows: Rows, where: Path, reader: Reader) -> list[TaughtReview]:
    """The labelled reviews; InputError for a row without a text."""
    for row in rows:
        if not isinstance(row.get("text"), str):
            fix = 'each line is {"id", "text", "triplets"}; labels of a pool are read with --workdir'
            raise InputError(f"review {row['id']} has no text", where=str(where), fix=fix)
    reviews = [Review(n, str(row["id"]), str(row["text"]), "traditional") for n, row in enumerate(rows)]
    own, refused = _locate_labels(rows, reviews, where, "triplets"), _locate_labels(rows, reviews, where, "wrong")
    readings = reader.read([review.text for review in reviews])
    return [
        TaughtReview(review.key, reading, own[review.id], refused[review.id] if "wrong" in row else None)
        for row, review, reading in zip(rows, reviews, readings, strict=True)
    ]


def _locate_labels(rows: Rows, reviews: Sequence[Review], where: Path, name: str) -> dict[int, tuple[Triplet, ...]]:
    """Review -> the triplets that its row has under a name."""
    labels = [{"id": row["id"], "triplets": row.get(name) or []} for row in rows]
    out: dict[int, tuple[Triplet, ...]] = {review.id: () for review in reviews}
    for review, triplet in layers.labelled(labels, reviews, str(where)):
        out[review] = (*out[review], triplet)
    return out


def read_again(
    taught: Sequence[TaughtReview], reader: Reader, words: Collection[str], known: KnownReadings | None = None
) -> list[TaughtReview]:
    """The same reviews as a reader reads them that knows these words besides: only where one stands, words change.
    `known` keeps readings by text and by the words that stand in it.
    """
    known = {} if known is None else known
    present = [frozenset(filter(review.reading.view.text.lower().__contains__, words)) for review in taught]
    keys = [(review.reading.text, own) for review, own in zip(taught, present, strict=True)]
    new = list(dict.fromkeys(key for key in keys if key[1] and key not in known))
    known.update(zip(new, reader.read([text for text, _ in new]), strict=True))
    return [replace(review, reading=known.get(key, review.reading)) for review, key in zip(taught, keys, strict=True)]


def learn_aspects(taught: Sequence[TaughtReview], lexicon: Lexicon) -> dict[str, str]:
    """The aspects that the lexicon lacks, with their class: words that the labels of `_LEAST` reviews name, and of a
    `_SHARE` of the reviews that hold them.

    A mention of which nothing is said has no label, so that share is small. A word of one review hardly comes again.
    """
    texts = [review.reading.view.text.lower() for review in taught if review.wrong is None]
    named = [{_show(t.aspect, lexicon) for t in review.triplets if len(t.aspect.spans) == 1} for review in taught]
    counts = Counter(word for words in named for word in words)
    out: dict[str, str] = {}
    for word, count in sorted(counts.items(), key=lambda item: (len(item[0]), item[0])):
        known = word in lexicon.aspects or word in lexicon.opinions or word in lexicon.not_aspects
        if known or count < _LEAST or not _can_be_word(word):
            continue
        if count >= _SHARE * sum(word in text for text in texts):
            out[word] = _find_class(word, out, lexicon)
    return out


def _show(aspect: Element, lexicon: Lexicon) -> str:
    """An aspect as the lexicon writes it."""
    return view(aspect.text, lexicon.variants).text.lower()


def _can_be_word(word: str) -> bool:
    latin = word.isascii() and word.isalnum() and not word.isdigit()
    return "的" not in word and _SHORTEST <= len(word) <= _LONGEST and (latin or all(map(HAN.match, word)))


def _find_class(word: str, learnt: Mapping[str, str], lexicon: Lexicon) -> str:
    """The class of a new aspect: that of the longest learnt one that it ends in, else that of known ones."""
    by_ending = (learnt[tail] for start in range(1, len(word) - 1) if (tail := word[start:]) in learnt)
    return next(by_ending, None) or guess_class(word, lexicon, lexicon.default_class)


@contextmanager
def lay_aspects(aspects: Mapping[str, str], folders: Folders, reader: Reader) -> Iterator[Reader]:
    """A reader of the folders that knows these aspects, too; the same one where there is none."""
    if not aspects:
        yield reader
        return
    with tempfile.TemporaryDirectory() as place:
        write(Overlay(LABELS, aspects=tuple(aspects.items())), Path(place))
        yield make_reader(Recipe(folders=replace(folders, imported=(*folders.imported, Path(place)))))
