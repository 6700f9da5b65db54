"""The one wiring from a text to its triplets: view, words and trees, engine, offsets into the text as it was given.

In: texts, or reviews with the words that `annotate` stored. Out: `Reading`s and triplets in code points of those
texts. The stages, the commands and the Python API read texts through a `Reader`; what they add is where the texts
come from and where the triplets go.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import repeat
from pathlib import Path
from typing import NamedTuple

from builder.core.machine import uncollected
from builder.core.records import Element, Review, Token, Triplet
from builder.core.settings import Convention
from builder.engine import Doc, RuleEngine, make_engine
from builder.language import nlp
from builder.language.lexicon.folders import SHIPPED, Folders
from builder.language.lexicon.resources import Lexicon
from builder.reviews.script import Script, Variants
from builder.reviews.text import View, from_source, view

Triplets = tuple[Triplet, ...]
StoredWord = tuple[int, int, str, int, str]
"""A token as the database holds it: its fields, in offsets of the stored text."""


class Reading(NamedTuple):
    """A text, its view, and the view's tokens."""

    text: str
    view: View
    tokens: tuple[Token, ...]

    @property
    def doc(self) -> Doc:
        """What the engine reads."""
        return Doc.of(self.view.text, self.tokens)

    @property
    def text_tokens(self) -> list[Token]:
        """The tokens in offsets of the text."""
        to_source = self.view.to_source
        return [Token(*to_source((token.start, token.end)), token.pos, token.head, token.rel) for token in self.tokens]


@dataclass(frozen=True, slots=True)
class Recipe:
    """What a reader is made from. It is small, hashable and travels to worker processes.

    `folders` are those of words and rules; `models` holds the backend's models where they are not the shipped ones, and
    `device` is where they run.
    """

    convention: Convention = "natural"
    folders: Folders = SHIPPED
    backend: str = "embedded"
    models: Path | None = None
    device: str = "auto"


@dataclass(frozen=True, slots=True)
class Reader:
    """Lexicon, backend and engine, ready to read."""

    lexicon: Lexicon
    backend: nlp.Backend
    engine: RuleEngine

    def read(self, texts: Sequence[str]) -> list[Reading]:
        """The words and trees of texts."""
        return read(texts, self.backend, self.lexicon.variants)

    def extract(self, texts: Sequence[str]) -> list[Triplets]:
        """The triplets of texts, in offsets of the texts."""
        return [extract(self.engine, reading) for reading in self.read(texts)]


def make_reader(recipe: Recipe) -> Reader:
    """Load what a recipe names. ResourceError or ConfigError where something of it is missing or broken."""
    with uncollected():
        lexicon = recipe.folders.load_lexicon()
        backend = nlp.load(recipe.backend, lexicon.words(), recipe.models, recipe.device)
        return Reader(lexicon, backend, make_engine(lexicon, recipe.folders.load_rules(), recipe.convention))


def read(
    texts: Sequence[str], backend: nlp.Backend, variants: Variants | None, scripts: Sequence[Script] | None = None
) -> list[Reading]:
    """The words and trees of texts; `scripts` are those the texts are written in, where that is known."""
    known = repeat(None, len(texts)) if scripts is None else scripts
    views = [view(text, variants, script) for text, script in zip(texts, known, strict=True)]
    annotated = backend.annotate([shown.text for shown in views])
    return [Reading(text, shown, tokens) for text, shown, tokens in zip(texts, views, annotated, strict=True)]


def review_view(review: Review, variants: Variants) -> View:
    """The view of a stored review."""
    return view(review.text, variants, review.script)  # type: ignore[arg-type]


def restored(review: Review, words: Sequence[StoredWord], variants: Variants) -> Reading:
    """The reading of a review whose words are stored. They tile its view: each ends where the next begins."""
    shown = review_view(review, variants)
    if not words:
        return Reading(review.text, shown, ())
    starts, _, tags, heads, relations = zip(*words, strict=True)
    if not shown.unshortened:
        first = {start: i for i, start in enumerate(shown.starts)}
        starts = tuple([first[start] for start in starts])
    return Reading(
        review.text, shown, tuple(map(Token, starts, (*starts[1:], len(shown.text)), tags, heads, relations))
    )


def extract(engine: RuleEngine, reading: Reading) -> Triplets:
    """The rule triplets of a reading, in offsets of its text."""
    triplets = engine.extract(reading.doc)
    return tuple([to_text(triplet, reading.view, reading.text) for triplet in triplets]) if triplets else ()


def to_text(triplet: Triplet, shown: View, text: str) -> Triplet:
    """A triplet in offsets of a view as one in offsets of the text that the view shows."""
    if shown.unshortened and shown.text == text:
        return triplet

    def move(element: Element) -> Element:
        return shown.element(element.spans, text)

    return triplet.mapped(move)


def to_view(triplet: Triplet, shown: View) -> Triplet | None:
    """A triplet of a text in offsets of its view, without its story; None if the view lacks one of its parts."""

    def move(element: Element) -> Element | None:
        spans = from_source(shown, element.spans)
        return None if spans is None else Element.at(shown.text, spans)

    return triplet.bare().mapped(move)
