"""`style-transfer` (Wu et al. 2019, section 5): what makes a sentence's label is masked and refilled under the opposite
one, which makes counterfactuals, once a discriminator has passed them.

Where opinions are marked, one gives way to an opinion of the opposite polarity from the training sentences that the
conditional model finds fitting; `changed` says its polarity and valence. Where aspects of one polarity are, or the
sentence has a label, the words that a classifier with attention looks at are refilled under the opposite label.
"""

from __future__ import annotations

import hashlib
import math
import random
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial

import torch
from torch import Tensor, nn
from torch.nn import functional

from builder.augment.candidates import Changed, Edit, Mark, Rewrite, Sentence
from builder.augment.catalogue import Given
from builder.augment.method_settings import StyleTransferSettings, describe_settings, sign_method
from builder.augment.methods.replacing import ClozeModel, Words, distinct, edited, in_turn, train_cbert, unit_inventory
from builder.augment.nets.cloze import Blank, Fill, collate, fill
from builder.augment.nets.transformer import begun
from builder.augment.training import UNSAID, Conditions, Workplace, free_words, kept, train_until_converged, trained
from builder.core.errors import ModelError
from builder.core.records import Polarity, Span
from builder.learning import devices
from builder.learning.loop import scope
from builder.learning.obtain import Measure, load_or_train, split_held_out, training_key
from builder.learning.pieces import Cut, Inventory
from builder.learning.task import VALENCE, seed_of

NAME = "style-transfer"


@dataclass(frozen=True, slots=True, eq=False)
class StyleTransfer:
    """The trained models as a Method; `units` are the classifier's tokens, `valences` those of opinions by text."""

    settings: StyleTransferSettings
    model: ClozeModel
    judge: Classifier
    units: Inventory
    opinions: tuple[Opinion, ...]
    valences: Mapping[str, float]
    digest: str
    place: Workplace
    name: str = NAME

    @property
    def signature(self) -> str:
        labels, digest = f"labels={self.model.conditions.mode}", f"model {self.digest[:16]}"
        return sign_method(NAME, self.settings, labels, digest)

    def propose(self, sentences: Sequence[Sentence], copies: int, seed: int) -> Iterator[tuple[Rewrite, ...]]:
        """Up to `copies` candidates, of each sentence alone; none where its label has no opposite."""
        for done, sentence in enumerate(sentences, start=1):
            with scope(self.place.threads):
                made = self._made(sentence, copies, seed)
            yield made
            if self.place.progress:
                self.place.progress(done, len(sentences), "writing")

    def _made(self, sentence: Sentence, copies: int, seed: int) -> tuple[Rewrite, ...]:
        marks = kept(sentence)
        cut = self.model.inventory.cut(sentence.text, sentence.words)
        if not len(cut) or len(cut) + 8 > self.model.network.longest:
            return ()
        draw = random.Random(seed_of(seed, NAME, sentence.id, sentence.text))
        if self.model.conditions.mode == "polarity" and any(mark.kind == "opinion" for mark in marks):
            return tuple(self._flipped(sentence, cut, marks, copies, draw))
        return distinct(self._refilled(sentence, cut, marks, copies, draw))

    def _flipped(
        self, sentence: Sentence, cut: Cut, marks: Sequence[Mark], copies: int, draw: random.Random
    ) -> Iterator[Rewrite]:
        """One opinion of a candidate gives way; opinions take turns, and none is used twice for a mark."""
        ranked = {
            mark: self._ranked(sentence, cut, mark, draw)
            for mark in marks
            if mark.kind == "opinion" and mark.polarity in OPPOSITE
        }
        turns = draw.sample(sorted(ranked, key=lambda mark: mark.start), len(ranked))
        replacements = [(mark, place) for place in range(copies) for mark in turns if place < len(ranked[mark])]
        for mark, place in replacements[:copies]:
            score, new = ranked[mark][place]
            valence = self.valences.get(new.text, VALENCE[new.polarity])
            changed = Changed(mark.start, mark.end, new.text, new.polarity, valence)
            yield Rewrite(sentence.id, (Edit(mark.start, mark.end, new.text),), score, None, (changed,))

    def _ranked(self, sentence: Sentence, cut: Cut, mark: Mark, draw: random.Random) -> list[tuple[float, Opinion]]:
        """Opinions of the opposite polarity with their scores: first those said of such an aspect (no table is tender),
        among them by the mean log-probability of a token, with Gumbel noise.
        """
        tokens = [at for at, (start, end) in enumerate(cut.spans) if start < mark.end and mark.start < end]
        if not tokens or cut.spans[tokens[0]][0] < mark.start or cut.spans[tokens[-1]][1] > mark.end:
            return []
        wanted, now = OPPOSITE[mark.polarity], sentence.text[mark.start : mark.end]
        opinions = [opinion for opinion in self.opinions if opinion.polarity == wanted and opinion.text != now]
        if not opinions:
            return []
        scores = self._fits(turned(sentence, mark), cut, (tokens[0], tokens[-1] + 1), opinions)
        heat = self.settings.temperature
        noise = [-math.log(-math.log(draw.random() or 1e-12)) * heat for _ in opinions]
        own = head(sentence, mark)
        order = sorted(
            range(len(opinions)),
            key=lambda n: (own not in opinions[n].heads, -(scores[n] + noise[n]), opinions[n].text),
        )
        return [(round(scores[n], 2), opinions[n]) for n in order]

    def _fits(self, sentence: Sentence, cut: Cut, place: Span, opinions: Sequence[Opinion]) -> list[float]:
        """The mean log-probability of a token of each opinion in `place`, all masked under its first label."""
        model, (start, end) = self.model, place
        labels = model.conditions.labels(sentence, cut.spans)
        lengths = sorted({len(opinion.ids) for opinion in opinions})
        blanks = [
            Blank(
                (*cut.ids[:start], *[model.inventory.mask] * length, *cut.ids[end:]),
                (*labels[:start], *[labels[start]] * length, *labels[end:]),
                tuple(range(start, start + length)),
            )
            for length in lengths
        ]
        with torch.inference_mode():
            scores = model.network.log_probabilities(blanks).cpu()
        log_p = dict(zip(lengths, torch.split(scores, lengths), strict=True))
        return [
            sum(float(log_p[len(opinion.ids)][t, i]) for t, i in enumerate(opinion.ids)) / len(opinion.ids)
            for opinion in opinions
        ]

    def _refilled(
        self, sentence: Sentence, cut: Cut, marks: Sequence[Mark], copies: int, draw: random.Random
    ) -> Iterator[Rewrite]:
        """The words that speak for the label, under the opposite one."""
        how, model = self.settings, self.model
        label = label_of(sentence, marks, model.conditions)
        opposite = None if label is None else opposites(model.conditions).get(label)
        chosen = self._speaking(sentence, cut, marks) if opposite else ()
        if opposite is None or not chosen:
            return
        number = model.conditions.names.index(opposite)
        first = frozenset(word[0] for word in chosen)
        seeds = [draw.getrandbits(62) for _ in range(copies)]
        items = [Fill(cut.ids, (number,) * len(cut), in_turn(chosen), first, seed, how.temperature) for seed in seeds]
        changed = tuple(self._turned_aspects(sentence, marks))
        new_label = opposite if model.conditions.mode == "sentence" else None
        for item in items:  # each alone: copies of one sentence are no batch
            _, (new, score) = next(fill(model.network, [item], model.inventory, self.place.threads))
            if edits := edited(model.inventory, sentence, cut, new):
                yield Rewrite(sentence.id, edits, score, new_label, changed)

    def _turned_aspects(self, sentence: Sentence, marks: Sequence[Mark]) -> Iterator[Changed]:
        """The aspects with their words as they are and the opposite polarity, where polarities are the labels."""
        for mark in marks:
            if self.model.conditions.mode == "polarity" and mark.polarity in OPPOSITE:
                polarity = OPPOSITE[mark.polarity]
                yield Changed(mark.start, mark.end, sentence.text[mark.start : mark.end], polarity, VALENCE[polarity])

    def _speaking(self, sentence: Sentence, cut: Cut, marks: Sequence[Mark]) -> Words:
        """The free words that get most attention, as tokens of the conditional model."""
        known = self.units.cut(sentence.text, sentence.words)
        words = free_words(sentence, cut.spans, marks)
        if not len(known) or len(known) > self.judge.longest:
            return ()
        spans = [(cut.spans[word[0]][0], cut.spans[word[-1]][1]) for word in words]
        tokens = [tuple(at for at, (a, b) in enumerate(known.spans) if start <= a and b <= end) for start, end in spans]
        sums = self.judge.weights(known.ids, tokens)
        most = max(sums, default=0.0)
        order = sorted(range(len(words)), key=lambda n: (-sums[n], n))[: self.settings.words]
        return tuple(words[n] for n in sorted(order) if most > 0 and sums[n] >= self.settings.share * most)


def load(
    settings: StyleTransferSettings,
    sentences: Sequence[Sentence],
    place: Workplace,
    corpus: Sequence[Sentence] = (),
    valences: Mapping[str, float] | None = None,
) -> StyleTransfer:
    """The method with its models: read, or trained and kept. ModelError where no sentence has a label to turn round."""
    conditions = Conditions.of(sentences)
    if conditions.mode not in ("sentence", "polarity"):
        raise ModelError(
            "the sentences have neither labels nor polarities",
            where=NAME,
            fix="style-transfer turns labels round: give labelled sentences",
        )
    filler = settings.filler()
    model, digest = train_cbert(filler, sentences, conditions, place.inside("cbert"), corpus=corpus)
    units = unit_inventory(sentences, False, settings.min_count)
    judge, judge_digest = _judge(settings, sentences, conditions, units, place.inside("classifier"))
    opinions = opinions_of(sentences, model.inventory) if conditions.mode == "polarity" else ()
    known = {opinion.text: (valences or {}).get(opinion.text, VALENCE[opinion.polarity]) for opinion in opinions}
    parts = repr((digest, judge_digest, known)).encode("utf-8", "surrogatepass")
    return StyleTransfer(settings, model, judge, units, opinions, known, hashlib.sha256(parts).hexdigest(), place)


def _judge(
    settings: StyleTransferSettings,
    sentences: Sequence[Sentence],
    conditions: Conditions,
    units: Inventory,
    place: Workplace,
) -> tuple[Classifier, str]:
    """The classifier of sentences by their labels, and its digest: read, or trained and kept."""
    seed = place.seed
    network = classifier(units.size, len(conditions.names), settings.width, seed)
    items = []
    for sentence in sentences:
        label, cut = label_of(sentence, sentence.marks, conditions), units.cut(sentence.text, sentence.words)
        if label is not None and 0 < len(cut) <= network.longest:
            items.append((sentence.id, Classed(cut.ids, conditions.names.index(label))))
    if not items:
        raise ModelError("no sentence has a label to turn round", where=NAME, fix="give labelled sentences")
    learnt, held = ([items[n][1] for n in part] for part in split_held_out([name for name, _ in items], 0.1, seed))
    schedule = place.schedule(settings, settings.epochs, sentences, 1e-3)
    key = training_key(NAME, (describe_settings(settings, training=True), seed), items, "embedded", __name__)
    measure: Measure[Classed] = Measure(network.loss, lambda item: len(item.ids), lambda item: 1)
    train = partial(train_until_converged, network, learnt, held, schedule, measure)
    digest = load_or_train(place, key, network, train)
    return network.eval(), digest


def _load_given(
    settings: StyleTransferSettings, given: Given, place: Workplace, corpus: tuple[Sentence, ...]
) -> StyleTransfer:
    valences = {word: opinion.valence for word, opinion in given.folders.load_lexicon().opinions.items()}
    return load(settings, given.sentences, place, corpus, valences)


make = trained(NAME, _load_given)


# ---- Labels and their opposites

OPPOSITE: Mapping[str | None, Polarity] = {"POS": "NEG", "NEG": "POS"}


@dataclass(frozen=True, slots=True)
class Opinion:
    """An opinion of the training sentences as tokens. `heads`: of the aspects that it is said of (see `head`)."""

    text: str
    ids: tuple[int, ...]
    polarity: Polarity
    heads: frozenset[str] = frozenset()


def label_of(sentence: Sentence, marks: Sequence[Mark], conditions: Conditions) -> str | None:
    """What a classifier learns: the sentence's label, or the one polarity of its aspects; None without one."""
    if conditions.mode == "sentence":
        return sentence.label
    polarities = {mark.polarity for mark in marks if mark.kind == "aspect"}
    return next(iter(polarities)) if len(polarities) == 1 else None


def opposites(conditions: Conditions) -> dict[str, str]:
    """The opposite of each label that has one: of sentence labels, sorted, the one at the same place from the end."""
    if conditions.mode == "polarity":
        return {str(label): other for label, other in OPPOSITE.items()}
    names = [name for name in conditions.names if name != UNSAID]
    return {name: other for name, other in zip(names, reversed(names), strict=True) if name != other}


def turned(sentence: Sentence, opinion: Mark) -> Sentence:
    """The sentence with the opposite polarity at the aspect nearest to an opinion."""
    nearest = _nearest(sentence, opinion)
    turned = tuple(
        Mark(mark.start, mark.end, mark.kind, OPPOSITE[opinion.polarity]) if mark in (nearest, opinion) else mark
        for mark in sentence.marks
    )
    return Sentence(sentence.id, sentence.text, sentence.words, turned, sentence.label, sentence.language)


def _nearest(sentence: Sentence, opinion: Mark) -> Mark | None:
    aspects = [mark for mark in sentence.marks if mark.kind == "aspect"]
    return min(
        aspects, key=lambda mark: (max(0, opinion.start - mark.end, mark.start - opinion.end), mark.start), default=None
    )


def head(sentence: Sentence, opinion: Mark) -> str:
    """The last word of the aspect nearest to an opinion, in Chinese its last character (湯 of 虱目魚湯); or ""."""
    mark = _nearest(sentence, opinion)
    text = sentence.text[mark.start : mark.end].lower() if mark else ""
    return (text.split()[-1:] or [""])[0] if sentence.language == "en" else text[-1:]


def opinions_of(sentences: Sequence[Sentence], inventory: Inventory) -> tuple[Opinion, ...]:
    """The opinions of the sentences whose tokens are known, with the polarity that each has most often; by text."""
    counts: dict[tuple[str, tuple[int, ...]], dict[Polarity, int]] = {}
    heads: dict[str, set[str]] = {}
    for sentence in sentences:
        marks = [mark for mark in sentence.marks if mark.kind == "opinion" and mark.polarity in OPPOSITE]
        cut = inventory.cut(sentence.text, sentence.words) if marks else None
        for mark in marks:
            assert cut is not None and mark.polarity is not None
            tokens = [at for at, (start, end) in enumerate(cut.spans) if mark.start <= start and end <= mark.end]
            ids = tuple(cut.ids[at] for at in tokens)
            whole = tokens and cut.spans[tokens[0]][0] == mark.start and cut.spans[tokens[-1]][1] == mark.end
            if whole and len(ids) <= 8 and not {*inventory.never} & {*ids}:
                by_polarity = counts.setdefault((sentence.text[mark.start : mark.end], ids), {})
                by_polarity[mark.polarity] = by_polarity.get(mark.polarity, 0) + 1
                heads.setdefault(sentence.text[mark.start : mark.end], set()).add(head(sentence, mark))
    best = {
        text: Opinion(text, ids, max(sorted(count), key=lambda name: count[name]), frozenset(heads[text] - {""}))
        for (text, ids), count in counts.items()
    }
    return tuple(best[text] for text in sorted(best))


# ---- Which words make a label, and how likely others are in a place


@dataclass(frozen=True, slots=True)
class Classed:
    """A sentence as token ids, and its class."""

    ids: tuple[int, ...]
    label: int


class Classifier(nn.Module):
    """A softmax over an LSTM's states weighs the words, whose sum is classified (Xu et al. 2018). Words are summed, not
    states, for a state knows earlier words.
    """

    longest = 512

    def __init__(self, size: int, classes: int, width: int) -> None:
        super().__init__()
        self.tokens, self.dropout = nn.Embedding(size, width), nn.Dropout(0.3)
        begun(self)
        self.reading = nn.LSTM(width, width, batch_first=True)
        self.turn, self.heed = nn.Linear(width, width), nn.Linear(width, 1, bias=False)
        self.out = nn.Linear(width, classes)

    def attention(self, embedded: Tensor, seen: Tensor) -> Tensor:
        """The weight of each word [B, T]; padding has none."""
        states, _ = self.reading(embedded)
        scores = self.heed(torch.tanh(self.turn(states)))[..., 0]
        weights: Tensor = scores.masked_fill(~seen, -1e9).softmax(-1)
        return weights

    def forward(self, ids: Tensor, seen: Tensor) -> Tensor:
        words = self.dropout(self.tokens(ids))
        out: Tensor = self.out((words * self.attention(words, seen)[:, :, None]).sum(1))
        return out

    def loss(self, items: Sequence[Classed]) -> Tensor:
        blanks = [Blank(item.ids, (0,) * len(item.ids), ()) for item in items]
        batch = devices.place(collate(blanks, 0), devices.device_of(self))
        logits = self(batch.ids, batch.seen).float()
        return functional.cross_entropy(logits, torch.tensor([item.label for item in items], device=logits.device))

    def weights(self, ids: Sequence[int], words: Sequence[Sequence[int]]) -> list[float]:
        """The attention that each word gets, over the positions of its tokens."""
        batch = devices.place(collate([Blank(tuple(ids), (), ())], 0), devices.device_of(self))
        with torch.inference_mode():
            weights = self.attention(self.tokens(batch.ids), batch.seen)[0].tolist()
        return [sum(weights[at] for at in word) for word in words]


def classifier(size: int, classes: int, width: int, seed: int) -> Classifier:
    """An untrained classifier; the same seed gives the same weights."""
    with scope(1, seed):
        return Classifier(size, classes, width)
