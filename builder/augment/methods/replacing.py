"""`cbert`, `bert`, `context` and `context+label`: words outside of all marks are replaced by what a network predicts.

`cbert` (Wu et al. 2019): words are masked and predicted by a BERT that reads labels where segments stood; `bert` is the
same without label. `k` words give way (algorithm 1, steps 5 and 6). Bases: `embedded`, or any BERT, which `cbert`
fine-tunes and `bert` uses as it is. Either may learn from a corpus first; then an encoder without a head will do.

`context` and `context+label` (Kobayashi 2018): every word gives way, with a probability, to one drawn from a
bidirectional LSTM language model, given the words around; with `+label` the label as well. It learns from a corpus
first, where one is named, else from the sentences without their labels.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import chain

from builder.augment.candidates import Edit, Rewrite, Sentence
from builder.augment.method_settings import CBertSettings, ContextSettings, Training, describe_settings, sign_method
from builder.augment.nets import cloze
from builder.augment.nets.cloze import Blank, Choice, Cloze, Fill, fill, take_over, train
from builder.augment.training import (
    Conditions,
    Loader,
    Workplace,
    candidates_by_plan,
    english,
    free_words,
    kept,
    trained,
)
from builder.core.errors import ModelError
from builder.learning.checkpoint import tensor_digest
from builder.learning.devices import choose
from builder.learning.obtain import Phase, Schedule, load_or_train, split_held_out, training_key
from builder.learning.pieces import Cut, Inventory, Units
from builder.learning.task import seed_of

CBERT, BERT, CONTEXT, CONTEXT_LABEL = "cbert", "bert", "context", "context+label"

Words = tuple[tuple[int, ...], ...]
Steps = tuple[tuple[tuple[int, ...], tuple[int, ...]], ...]
DrawSteps = Callable[[Words, random.Random], Steps]
"""Of the words that may be replaced, as tokens: the steps of `Fill`."""
_PLAIN = {CBERT: BERT, BERT: BERT, CONTEXT_LABEL: CONTEXT, CONTEXT: CONTEXT}
"""The method without labels by each."""


@dataclass(frozen=True, slots=True, eq=False)
class ClozeModel:
    """A network that predicts hidden words, its tokens, and the labels that it is told of each token."""

    network: Cloze
    inventory: Inventory
    conditions: Conditions


@dataclass(frozen=True, slots=True, eq=False)
class Replacing:
    """A trained model as a Method; `draw_steps` chooses the words that give way to others."""

    name: str
    settings: Training
    model: ClozeModel
    draw_steps: DrawSteps
    digest: str
    place: Workplace
    temperature: float = 1.0

    @property
    def signature(self) -> str:
        labels, digest = f"labels={self.model.conditions.mode}", f"model {self.digest[:16]}"
        return sign_method(self.name, self.settings, labels, digest)

    def propose(self, sentences: Sequence[Sentence], copies: int, seed: int) -> Iterator[tuple[Rewrite, ...]]:
        """`copies` candidates a sentence, each with words of its own drawn; none where no word may be replaced."""
        model, place = self.model, self.place
        plan = partial(self._fills, copies, seed)
        write = lambda items: fill(model.network, items, model.inventory, place.threads, place.progress)
        for found in candidates_by_plan(sentences, plan, write, self._read):
            yield distinct(chain.from_iterable(found))

    def _read(self, sentence: Sentence, cut: Cut, item: Fill, choice: Choice) -> Iterator[Rewrite]:
        new, score = choice
        if edits := edited(self.model.inventory, sentence, cut, new):
            yield Rewrite(sentence.id, edits, score)

    def _fills(self, copies: int, seed: int, sentence: Sentence) -> Iterator[tuple[Cut, Fill]]:
        cut = self.model.inventory.cut(sentence.text, sentence.words)
        words = free_words(sentence, cut.spans, kept(sentence))
        if not words or len(cut) > self.model.network.longest:
            return
        labels = self.model.conditions.labels(sentence, cut.spans)
        for copy in range(copies):
            number = seed_of(seed, self.name, sentence.id, sentence.text, copy)
            steps = self.draw_steps(words, random.Random(number))
            if steps:
                first = frozenset(word[0] for word in words)
                yield cut, Fill(cut.ids, labels, steps, first, number, self.temperature)


def edited(inventory: Inventory, sentence: Sentence, cut: Cut, new: Mapping[int, int]) -> tuple[Edit, ...]:
    """The edits that put new tokens in place of other ones; none where tokens of bytes make no whole character."""
    changed = {at: token for at, token in new.items() if token != cut.ids[at]}
    edits = tuple(Edit(*change) for change in inventory.written(sentence.text, cut, changed))
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


def distinct(candidates: Iterable[Rewrite]) -> tuple[Rewrite, ...]:
    """The first of every two with the same edits."""
    return tuple({candidate.edits: candidate for candidate in reversed(list(candidates))}.values())[::-1]


def unit_inventory(sentences: Sequence[Sentence], words: bool, min_count: int) -> Inventory:
    """Words, or characters where most sentences are Chinese and `words` does not ask for words."""
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
        ids, labels, words = item
        chosen = draw.sample(words, max(1, round(self.masking.share * len(words))))
        places = tuple(sorted(at for word in chosen for at in word))
        shown = tuple(self.mask if self.masking.hidden and at in set(places) else i for at, i in enumerate(ids))
        return Blank(shown, labels if labelled else (0,) * len(ids), places, tuple(ids[at] for at in places))

    def phase(self, schedule: Schedule, labelled: bool, seed: int) -> Phase[Blank]:
        """A phase of the training, its blanks drawn by epoch."""
        count = max(len(self.items), schedule.least)
        held = self.draw(max(200, len(self.held)), seed, labelled, True)
        return Phase(lambda epoch: self.draw(count, seed_of(seed, labelled, epoch), labelled), held, schedule)


Begin = Callable[[int], tuple[Cloze, Inventory, str]]
"""A new network for so many labels, its tokens, and the digest of the weights that it begins with."""


@dataclass(frozen=True, slots=True)
class ClozeTraining:
    """How the network of a method is begun and trained."""

    name: str
    settings: CBertSettings | ContextSettings
    begin: Begin
    masking: Masking
    place: Workplace

    def train(
        self, conditions: Conditions, sentences: Sequence[Sentence], corpus: Sequence[Sentence]
    ) -> tuple[ClozeModel, str]:
        """The model and its digest: read, or trained and kept. A corpus is read first, by a network without labels
        whose weights every label then begins with; without one an embedded network first reads the sentences so.
        """
        network, inventory, base = self.begin(len(conditions.names))
        model, settings, corpus_name = ClozeModel(network, inventory, conditions), self.settings, _PLAIN[self.name]
        if corpus:
            first, (plain, _, weights) = settings.begun(), self.begin(1)
            own = replace(self, name=corpus_name, settings=first, place=self.place.of_corpus(corpus_name))
            base = own._fit(ClozeModel(plain, inventory, Conditions.none()), corpus, [(first.epochs, False)], weights)
            take_over(network, plain)
        phases = [(settings.epochs, True)] if self.name != corpus_name else []
        if base == "embedded" and not corpus and (settings.pretrain_epochs or not phases):
            phases.insert(0, (settings.pretrain_epochs or settings.epochs, False))
        return model, self._fit(model, sentences, phases, base)

    def _fit(
        self, model: ClozeModel, sentences: Sequence[Sentence], epochs: Sequence[tuple[int, bool]], base: str
    ) -> str:
        """Give the network its weights: those that are kept, or those that phases of (epochs, with labels) lead to
        from the weights whose digest is `base`. Returns their digest.
        """
        network, place, settings = model.network, self.place, self.settings
        if not epochs:
            network.to(choose(place.device))
            return tensor_digest(dict(network.named_parameters()))
        source = BlankSource.of(sentences, model, self.masking, place.seed)
        data = [(sentence.id, sentence.text, sentence.words, sentence.marks, sentence.label) for sentence in sentences]
        described = (describe_settings(settings, training=True), model.conditions, self.masking, place.seed)
        key = training_key(self.name, described, data, base, __name__)
        schedules = (place.schedule(settings, number, sentences, settings.own_rate) for number, _ in epochs)
        phases = [
            source.phase(schedule, labelled, place.seed)
            for schedule, (_, labelled) in zip(schedules, epochs, strict=True)
        ]
        digest = load_or_train(place, key, network, lambda run: train(network, phases, run))
        network.eval()
        return digest


# ---- cbert and bert


def load_cbert(
    settings: CBertSettings,
    sentences: Sequence[Sentence],
    place: Workplace,
    name: str = CBERT,
    corpus: Sequence[Sentence] = (),
) -> Replacing:
    """`cbert`, or `bert` by that name, with its model: read, or trained and kept. ModelError for no BERT."""
    conditions = Conditions.none() if name == BERT else Conditions.of(sentences)
    model, digest = train_cbert(settings, sentences, conditions, place, name, corpus)
    plan = partial(individually, settings.share) if settings.share else partial(words_at_once, settings.k)
    return Replacing(name, settings, model, plan, digest, place, settings.temperature)


def train_cbert(
    settings: CBertSettings,
    sentences: Sequence[Sentence],
    conditions: Conditions,
    place: Workplace,
    name: str = CBERT,
    corpus: Sequence[Sentence] = (),
) -> tuple[ClozeModel, str]:
    """The conditional masked language model and its digest: read, or trained and kept."""
    embedded = settings.base == "embedded"
    known = unit_inventory(corpus or sentences, False, settings.min_count) if embedded else None

    def begin(labels: int) -> tuple[Cloze, Inventory, str]:
        if known is None:
            return cloze.based(settings.base, labels, place.seed, bool(corpus))
        network = cloze.embedded(known.size, labels, settings.width, settings.layers, place.seed)
        return network, known, "embedded"

    masking = Masking(max(settings.mask, settings.share), hidden=True)
    return ClozeTraining(name, settings, begin, masking, place).train(conditions, sentences, corpus)


def words_at_once(k: int, words: Words, draw: random.Random) -> Steps:
    """`k` whole words side by side, the tokens of each in turn."""
    return in_turn(tuple(draw.sample(words, len(words))[:k]))


def individually(share: float, words: Words, draw: random.Random) -> Steps:
    """A share of the tokens, each predicted without the others (Li et al. 2020, appendix A)."""
    tokens = [at for word in words for at in word]
    chosen = tuple(sorted(draw.sample(tokens, max(1, round(share * len(tokens))))))
    return ((chosen, chosen),)


# ---- context and context+label


def load_context(
    settings: ContextSettings,
    sentences: Sequence[Sentence],
    place: Workplace,
    name: str = CONTEXT_LABEL,
    corpus: Sequence[Sentence] = (),
) -> Replacing:
    """`context+label`, or `context` by that name, with its language model: read, or trained and kept."""
    conditions = Conditions.none() if name == CONTEXT else Conditions.of(sentences)
    inventory = unit_inventory(corpus or sentences, True, settings.min_count)

    def begin(labels: int) -> tuple[Cloze, Inventory, str]:
        return cloze.lstm(inventory.size, labels, settings.width, place.seed), inventory, "embedded"

    masking, plan = Masking(1.0, hidden=False), partial(by_chance, settings.probability)
    training = ClozeTraining(name, settings, begin, masking, place)
    model, digest = training.train(conditions, sentences, corpus)
    return Replacing(name, settings, model, plan, digest, place, settings.temperature)


def by_chance(probability: float, words: Words, draw: random.Random) -> Steps:
    """Every word with the same probability, one at least; none is masked, for the model reads only around it."""
    chosen = [word for word in words if draw.random() < probability] or [draw.choice(words)]
    return ((tuple(at for word in chosen for at in word), ()),)


# ---- Loaders


def _make(name: str, load: Callable[..., Replacing], words: bool = False) -> Loader:
    return trained(name, lambda own, given, place, corpus: load(own, given.sentences, place, name, corpus), words)


make_cbert, make_bert = _make(CBERT, load_cbert), _make(BERT, load_cbert)
make_context, make_context_label = (_make(name, load_context, words=True) for name in (CONTEXT, CONTEXT_LABEL))
