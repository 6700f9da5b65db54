"""What `cbert`, `bert`, `context` and `context+label` share: words are replaced by what a network thinks may stand in
their place.

In: sentences with marks or labels. Out: candidates in which some words outside of all marks are others. How words are
chosen and predicted is a `Plan`; how a network is trained on the sentences is here: masks are drawn anew every epoch,
until the validation loss no longer falls.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from builder.augment.records import Edit, Rewrite, Sentence
from builder.augment.training import Conditions, Training, corpora, english, free_words, kept, sign_method
from builder.core.errors import ModelError

if TYPE_CHECKING:
    from builder.augment.nets.cloze import Blank, Cloze, Fill
    from builder.learning.obtain import ModelShelf, Phase, Schedule
    from builder.learning.pieces import Cut, Inventory
    from builder.learning.task import Progress

Words = tuple[tuple[int, ...], ...]
Steps = tuple[tuple[tuple[int, ...], tuple[int, ...]], ...]
Plan = Callable[[Words, random.Random], Steps]
"""Of the words that may be replaced, as tokens: the steps of `Fill`."""
_CHUNK = 4096


@dataclass(frozen=True, slots=True, eq=False)
class ClozeModel:
    """A network that predicts hidden words, its tokens, and the labels that it is told of each token."""

    network: Cloze
    inventory: Inventory
    conditions: Conditions


@dataclass(frozen=True, slots=True, eq=False)
class Replacing:
    """A trained model as a Method. `plan` chooses the words of a candidate. `temperature` 0 takes the best token;
    `differ`: a replaced word's first token is another than before.
    """

    name: str
    settings: Training
    model: ClozeModel
    plan: Plan
    digest: str
    temperature: float = 1.0
    differ: bool = True
    progress: Progress | None = None

    @property
    def signature(self) -> str:
        labels, digest = f"labels={self.model.conditions.mode}", f"model {self.digest[:16]}"
        return sign_method(self.name, self.settings, labels, digest)

    def propose(self, sentences: Sequence[Sentence], copies: int, seed: int) -> Iterator[tuple[Rewrite, ...]]:
        """`copies` candidates a sentence, each with words of its own drawn; none where no word may be replaced."""
        for at in range(0, len(sentences), _CHUNK):
            yield from self._chunk(sentences[at : at + _CHUNK], copies, seed)

    def _chunk(self, sentences: Sequence[Sentence], copies: int, seed: int) -> Iterator[tuple[Rewrite, ...]]:
        from builder.augment.nets.cloze import fill

        plans = [
            (n, cut, item) for n, sentence in enumerate(sentences) for cut, item in self._fills(sentence, copies, seed)
        ]
        made: dict[int, dict[int, Rewrite]] = {}
        items, how, model = [item for *_, item in plans], self.settings, self.model
        for i, (new, score) in fill(model.network, items, model.inventory, how.batch, how.threads, self.progress):
            n, cut, _ = plans[i]
            changed = {at: token for at, token in new.items() if token != cut.ids[at]}
            if edits := edited(model.inventory, sentences[n], cut, changed):
                made.setdefault(n, {})[i] = Rewrite(sentences[n].id, edits, score)
        for n in range(len(sentences)):
            yield distinct(candidate for _, candidate in sorted(made.get(n, {}).items()))

    def _fills(self, sentence: Sentence, copies: int, seed: int) -> Iterator[tuple[Cut, Fill]]:
        from builder.augment.nets.cloze import Fill
        from builder.learning.task import seed_of

        cut = self.model.inventory.cut(sentence.text, sentence.words)
        words = free_words(sentence, cut.spans, kept(sentence, "aspect+opinion"))
        if not words or len(cut) > self.model.network.longest:
            return
        labels = self.model.conditions.labels(sentence, cut.spans)
        for copy in range(copies):
            number = seed_of(seed, self.name, sentence.id, sentence.text, copy)
            steps = self.plan(words, random.Random(number))
            first = frozenset(word[0] for word in words) if self.differ else frozenset[int]()
            if steps:
                yield cut, Fill(cut.ids, labels, steps, first, number, self.temperature)


def edited(inventory: Inventory, sentence: Sentence, cut: Cut, new: dict[int, int]) -> tuple[Edit, ...]:
    """The edits that put new tokens in place of old ones; none where tokens of bytes make no whole character."""
    edits = tuple(Edit(*change) for change in inventory.written(sentence.text, cut, new))
    return () if any("\ufffd" in edit.text for edit in edits) else edits


def in_turn(words: Words) -> Steps:
    """The steps that predict words side by side, the tokens of each in turn."""
    return tuple(
        (
            tuple(sorted(word[turn] for word in words if turn < len(word))),
            tuple(sorted(at for word in words for at in word[turn:])),
        )
        for turn in range(max(map(len, words)))
    )


def distinct(candidates: Iterator[Rewrite]) -> tuple[Rewrite, ...]:
    """The first of every two with the same edits."""
    return tuple({candidate.edits: candidate for candidate in reversed(list(candidates))}.values())[::-1]


def unit_inventory(sentences: Sequence[Sentence], words: bool, min_count: int) -> Inventory:
    """Words, or characters where most sentences are Chinese and `words` does not ask for words."""
    from builder.learning.pieces import Units

    spaced = english(sentences)
    return Units.of(
        ((sentence.text, sentence.words) for sentence in sentences),
        "word" if spaced or words else "char",
        spaced,
        min_count,
    )


TokenisedSentence = tuple[tuple[int, ...], tuple[int, ...], Words]
"""Tokens, a label of each, and the words that may be replaced."""


@dataclass(frozen=True, slots=True)
class Masking:
    """How blanks are drawn from a sentence: which `share` of its words is asked for, and whether they are `hidden`."""

    share: float
    hidden: bool


@dataclass(frozen=True, slots=True)
class BlankSource:
    """The training sentences as tokens, and those held out; blanks are drawn from them."""

    items: tuple[TokenisedSentence, ...]
    held: tuple[TokenisedSentence, ...]
    mask: int
    masking: Masking

    @classmethod
    def of(cls, sentences: Sequence[Sentence], model: ClozeModel, masking: Masking, seed: int) -> BlankSource:
        """ModelError where no sentence has a word to learn."""
        from builder.learning.obtain import split_held_out

        ids: list[str] = []
        items: list[TokenisedSentence] = []
        for sentence in sentences:
            cut = model.inventory.cut(sentence.text, sentence.words)
            words = free_words(sentence, cut.spans, ())
            if words and len(cut) <= model.network.longest:
                ids.append(sentence.id)
                items.append((cut.ids, model.conditions.labels(sentence, cut.spans), words))
        if not items:
            raise ModelError(f"no sentence to learn from (of {len(sentences)})", fix="give more training text")
        learnt, held = split_held_out(ids, 0.05, seed)
        return cls(tuple(items[n] for n in learnt), tuple(items[n] for n in held), model.inventory.mask, masking)

    def draw(self, count: int, seed: int, labelled: bool, held: bool = False) -> list[Blank]:
        """`count` sentences, all as often as each other, with fresh blanks."""
        draw, items = random.Random(seed), self.held if held else self.items
        order = draw.sample(range(len(items)), len(items))
        return [self._blank(items[order[n % len(items)]], draw, labelled) for n in range(count)]

    def _blank(self, item: TokenisedSentence, draw: random.Random, labelled: bool) -> Blank:
        from builder.augment.nets.cloze import Blank

        ids, labels, words = item
        chosen = draw.sample(words, max(1, round(self.masking.share * len(words))))
        places = tuple(sorted(at for word in chosen for at in word))
        shown = tuple(self.mask if self.masking.hidden and at in set(places) else i for at, i in enumerate(ids))
        return Blank(shown, labels if labelled else (0,) * len(ids), places, tuple(ids[at] for at in places))

    def phase(self, schedule: Schedule, labelled: bool, seed: int) -> Phase[Blank]:
        """A phase of the training, its blanks drawn by epoch."""
        from builder.learning.obtain import Phase
        from builder.learning.task import seed_of

        count = max(len(self.items), schedule.least)
        held = self.draw(max(200, len(self.held)), seed, labelled, True)
        return Phase(lambda epoch: self.draw(count, seed_of(seed, labelled, epoch), labelled), held, schedule)


@dataclass(frozen=True, slots=True)
class ClozeTraining:
    """How a cloze model is trained: in `phases` of (schedule, with labels), on blanks drawn by `masking`.

    `description` names the settings that the model depends on, `base` the weights that training begins with.
    """

    name: str
    description: str
    phases: Sequence[tuple[Schedule, bool]]
    masking: Masking
    base: str = "embedded"


def begin_on_corpus(
    model: ClozeModel, plain: Cloze, corpus: Sequence[Sentence], training: ClozeTraining, shelf: ModelShelf
) -> str:
    """Give the model the weights of an unconditional network that learnt from raw text, the same for every label.
    Returns their digest.
    """
    from builder.augment.nets.cloze import take_over

    unconditional = ClozeModel(plain, model.inventory, Conditions.of("none", corpus))
    digest = train_cloze(unconditional, corpus, training, replace(shelf, folder=corpora(shelf.folder, training.name)))
    take_over(model.network, plain)
    return digest


def train_cloze(model: ClozeModel, sentences: Sequence[Sentence], training: ClozeTraining, shelf: ModelShelf) -> str:
    """Give the network its weights: those on the shelf, or those that training leads to. Returns their digest."""
    from builder.augment.nets.cloze import train
    from builder.learning.checkpoint import tensor_digest
    from builder.learning.devices import choose
    from builder.learning.obtain import load_or_train, training_key

    network, masking, seed = model.network, training.masking, shelf.seed
    if not training.phases:
        network.to(choose(shelf.device))
        return tensor_digest(dict(network.named_parameters()))
    source = BlankSource.of(sentences, model, masking, seed)
    data = [(sentence.id, sentence.text, sentence.words, sentence.marks, sentence.label) for sentence in sentences]
    settings = (training.description, model.conditions, masking, seed)
    key = training_key(training.name, settings, data, training.base, __name__)
    phases = [source.phase(schedule, labelled, seed) for schedule, labelled in training.phases]
    digest = load_or_train(shelf, key, network, lambda run: train(network, phases, run))
    network.eval()
    return digest
