"""`style-transfer` (Wu et al. 2019, section 5): what makes a sentence's label is masked and refilled under the
opposite one.

In: sentences with a label, or with marks that have polarities. Out: candidates that are meant to say the opposite; a
counterfactual set, once a discriminator has passed it. Three cases. Opinions are marked: one of them gives way to an
opinion of the opposite polarity from the training sentences, the one that the conditional model finds fitting there;
`changed` says its polarity and valence. Aspects alone are marked, all of one polarity, or the sentence has a label:
the words that speak most for it are refilled under the opposite label. They are those without which a classifier is
less sure, or those that a classifier with attention looks at, as in the paper.
"""

from __future__ import annotations

import math
import random
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import TYPE_CHECKING

from builder.augment.methods import cbert
from builder.augment.natural import OPPOSITE, Opinion, head, label_of, middle, opinions_of, opposites, turned
from builder.augment.records import Changed, Edit, Mark, Rewrite, Sentence
from builder.augment.replacing import ClozeModel, Words, distinct, edited, in_turn, unit_inventory
from builder.augment.training import LATER, Conditions, InDomain, describe_training, free_words, kept, sign_method
from builder.core.errors import ModelError
from builder.core.limits import Limits, among, at_least, share_above_0
from builder.core.records import Span

if TYPE_CHECKING:
    from builder.augment.nets.attribution import Classifier
    from builder.learning.obtain import ModelShelf
    from builder.learning.pieces import Cut, Inventory
    from builder.learning.task import Progress

NAME = "style-transfer"
FINDERS = ("leave-one-out", "attention")


@dataclass(frozen=True, slots=True)
class StyleTransferSettings(InDomain):
    """The words that make the label are refilled under the opposite one. The model is that of `cbert`."""

    labels: str = "auto"
    """Which label is turned: `auto`, `sentence` or `polarity`."""
    find: str = "leave-one-out"
    """What finds the words that make the label: `leave-one-out`, or `attention` as in the paper."""
    words: int = field(default=3, metadata=LATER)
    """Words that are refilled at most."""
    share: float = field(default=0.4, metadata=LATER)
    """A word is refilled if it matters at least this share of the strongest one."""
    opposite: tuple[tuple[str, str], ...] = field(default=(), metadata=LATER)
    """Pairs of opposite sentence labels; empty: sorted labels in reverse."""
    replacement: str = field(default="sampled", metadata=LATER)
    """`sampled`, or `best`."""
    temperature: float = field(default=1.0, metadata=LATER)
    """Temperature of sampling."""
    layers: int = 4
    """Layers of the embedded model."""

    def limits(self) -> Limits:
        filler = self.filler().limits()
        return {key: limit for key, limit in filler.items() if hasattr(self, key)} | {
            "labels": among(("auto", "sentence", "polarity"), self.labels),  # which have an opposite
            "find": among(FINDERS, self.find),
            "words": at_least(1, self.words),
            "share": share_above_0(self.share),
        }

    def filler(self) -> cbert.CBertSettings:
        """The settings of the conditional model."""
        names = {field_.name for field_ in fields(cbert.CBertSettings)} - {"share"}
        shared = {field_.name: getattr(self, field_.name) for field_ in fields(self) if field_.name in names}
        return cbert.CBertSettings(**shared)


@dataclass(frozen=True, slots=True, eq=False)
class StyleTransfer:
    """The trained models as a Method: one that fills in words, one that classifies. `units` are the classifier's
    tokens, `valences` those of opinions by their text.
    """

    settings: StyleTransferSettings
    model: ClozeModel
    judge: Classifier
    units: Inventory
    opinions: tuple[Opinion, ...]
    valences: Mapping[str, float]
    digest: str
    progress: Progress | None = None
    name: str = NAME

    @property
    def signature(self) -> str:
        labels, digest = f"labels={self.model.conditions.mode}", f"model {self.digest[:16]}"
        return sign_method(NAME, self.settings, labels, digest)

    def propose(self, sentences: Sequence[Sentence], copies: int, seed: int) -> Iterator[tuple[Rewrite, ...]]:
        """Up to `copies` candidates; none for a sentence whose label has no opposite. Every sentence is worked on
        alone.
        """
        from builder.learning.loop import scope

        for done, sentence in enumerate(sentences, start=1):
            with scope(self.settings.threads):
                made = self._made(sentence, copies, seed)
            yield made
            if self.progress:
                self.progress(done, len(sentences), "writing")

    def _made(self, sentence: Sentence, copies: int, seed: int) -> tuple[Rewrite, ...]:
        from builder.learning.task import seed_of

        marks = kept(sentence, "aspect+opinion")
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
            valence = self.valences.get(new.text, middle(new.polarity))
            changed = Changed(mark.start, mark.end, new.text, new.polarity, valence)
            yield Rewrite(sentence.id, (Edit(mark.start, mark.end, new.text),), score, None, (changed,))

    def _ranked(self, sentence: Sentence, cut: Cut, mark: Mark, draw: random.Random) -> list[tuple[float, Opinion]]:
        """Opinions of the opposite polarity with their scores, the best first.

        First those that the training sentences have of such an aspect (no table is tender); among them by the mean
        log-probability of a token in this place, with Gumbel noise if sampled.
        """
        tokens = [at for at, (start, end) in enumerate(cut.spans) if start < mark.end and mark.start < end]
        if not tokens or cut.spans[tokens[0]][0] < mark.start or cut.spans[tokens[-1]][1] > mark.end:
            return []
        wanted, now = OPPOSITE[mark.polarity], sentence.text[mark.start : mark.end]
        opinions = [opinion for opinion in self.opinions if opinion.polarity == wanted and opinion.text != now]
        if not opinions:
            return []
        scores = self._fits(turned(sentence, mark), cut, (tokens[0], tokens[-1] + 1), opinions)
        heat = self.settings.temperature if self.settings.replacement == "sampled" else 0.0
        noise = [-math.log(-math.log(draw.random() or 1e-12)) * heat for _ in opinions]
        own = head(sentence, mark)
        order = sorted(
            range(len(opinions)),
            key=lambda n: (own not in opinions[n].heads, -(scores[n] + noise[n]), opinions[n].text),
        )
        return [(round(scores[n], 2), opinions[n]) for n in order]

    def _fits(self, sentence: Sentence, cut: Cut, place: Span, opinions: Sequence[Opinion]) -> list[float]:
        """The mean log-probability of a token of each opinion, in the place of some tokens of the sentence."""
        from builder.augment.nets.attribution import fitting

        model = self.model
        labels = model.conditions.labels(sentence, cut.spans)
        lengths = sorted({len(opinion.ids) for opinion in opinions})
        log_p = fitting(model.network, cut.ids, labels, place, model.inventory.mask, lengths)
        return [
            sum(float(log_p[len(opinion.ids)][t, i]) for t, i in enumerate(opinion.ids)) / len(opinion.ids)
            for opinion in opinions
        ]

    def _refilled(
        self, sentence: Sentence, cut: Cut, marks: Sequence[Mark], copies: int, draw: random.Random
    ) -> Iterator[Rewrite]:
        """The words that speak for the label, under the opposite one."""
        from builder.augment.nets.cloze import Fill, fill

        how, model = self.settings, self.model
        label = label_of(sentence, marks, model.conditions)
        opposite = None if label is None else opposites(model.conditions, how.opposite).get(label)
        chosen = self._speaking(sentence, cut, marks, label) if opposite else ()
        if opposite is None or label is None or not chosen:
            return
        number = model.conditions.names.index(opposite)
        first = frozenset(word[0] for word in chosen)
        heat = how.temperature if how.replacement == "sampled" else 0.0
        seeds = [draw.getrandbits(62) for _ in range(copies)]
        items = [Fill(cut.ids, (number,) * len(cut), in_turn(chosen), first, seed, heat) for seed in seeds]
        changed = tuple(self._turned_aspects(sentence, marks))
        new_label = opposite if model.conditions.mode == "sentence" else None
        for item in items:  # each alone: copies of one sentence are no batch
            _, (new, score) = next(fill(model.network, [item], model.inventory, 1, how.threads))
            replaced = {at: i for at, i in new.items() if i != cut.ids[at]}
            if edits := edited(model.inventory, sentence, cut, replaced):
                yield Rewrite(sentence.id, edits, score, new_label, changed)

    def _turned_aspects(self, sentence: Sentence, marks: Sequence[Mark]) -> Iterator[Changed]:
        """The aspects with their words as they are and the opposite polarity, where polarities are the labels."""
        for mark in marks:
            if self.model.conditions.mode == "polarity" and mark.polarity in OPPOSITE:
                polarity = OPPOSITE[mark.polarity]
                yield Changed(mark.start, mark.end, sentence.text[mark.start : mark.end], polarity, middle(polarity))

    def _speaking(self, sentence: Sentence, cut: Cut, marks: Sequence[Mark], label: str | None) -> Words:
        """The free words with the highest contributions to the label, as tokens of the conditional model."""
        from builder.augment.nets.attribution import Attentive, contributions

        known = self.units.cut(sentence.text, sentence.words)
        words = free_words(sentence, cut.spans, marks)
        if not len(known) or len(known) > self.judge.longest or label is None:
            return ()
        spans = [(cut.spans[word[0]][0], cut.spans[word[-1]][1]) for word in words]
        tokens = [tuple(at for at, (a, b) in enumerate(known.spans) if start <= a and b <= end) for start, end in spans]
        if isinstance(self.judge, Attentive):
            sums = self.judge.weights(known.ids, tokens)
        else:
            sums = contributions(self.judge, known.ids, tokens, self.model.conditions.names.index(label))
        most = max(sums, default=0.0)
        order = sorted(range(len(words)), key=lambda n: (-sums[n], n))[: self.settings.words]
        return tuple(words[n] for n in sorted(order) if most > 0 and sums[n] >= self.settings.share * most)


def load(
    settings: StyleTransferSettings,
    sentences: Sequence[Sentence],
    folder: Path,
    seed: int = 0,
    progress: Progress | None = None,
    valences: Mapping[str, float] | None = None,
    corpus: Sequence[Sentence] = (),
    device: str = "auto",
) -> StyleTransfer:
    """The method with the conditional model and the classifier of these sentences: read from `folder` or trained and
    kept there.

    `valences`: of opinions by their text, as a lexicon has them. Raises ModelError where no sentence has a label to
    turn round.
    """
    from builder.learning.obtain import ModelShelf

    conditions = Conditions.of(settings.labels, sentences)
    if conditions.mode not in ("sentence", "polarity"):
        raise ModelError(
            "the sentences have neither labels nor polarities",
            where=NAME,
            fix="style-transfer turns labels round: give labelled sentences",
        )
    shelf = ModelShelf(folder / "cbert", seed, progress, device)
    model, digest = cbert.trained(settings.filler(), sentences, conditions, shelf, cbert.NAME, corpus)
    units = unit_inventory(sentences, False, settings.min_count)
    shelf = ModelShelf(folder / "classifier", seed, progress, device)
    judge, judge_digest = _judge(settings, sentences, conditions, units, shelf)
    opinions = opinions_of(sentences, model.inventory) if conditions.mode == "polarity" else ()
    known = {opinion.text: (valences or {}).get(opinion.text, middle(opinion.polarity)) for opinion in opinions}
    digest = _digest(digest, judge_digest, known)
    return StyleTransfer(settings, model, judge, units, opinions, known, digest, progress)


def _digest(*parts: object) -> str:
    """One digest of all parts of the method."""
    import hashlib

    return hashlib.sha256(repr(parts).encode("utf-8", "surrogatepass")).hexdigest()


def _judge(
    settings: StyleTransferSettings,
    sentences: Sequence[Sentence],
    conditions: Conditions,
    units: Inventory,
    shelf: ModelShelf,
) -> tuple[Classifier, str]:
    """The classifier of sentences by their labels, and its digest: read from the shelf, or trained and kept there."""
    from builder.augment.nets import attribution
    from builder.learning.obtain import load_or_train, split_held_out, training_key

    seed = shelf.seed
    attentive = settings.find == "attention"
    network = attribution.classifier(units.size, len(conditions.names), settings.width, 2, seed, attentive)
    items = []
    for sentence in sentences:
        label, cut = label_of(sentence, sentence.marks, conditions), units.cut(sentence.text, sentence.words)
        if label is not None and 0 < len(cut) <= network.longest:
            items.append((sentence.id, attribution.Classed(cut.ids, conditions.names.index(label))))
    if not items:
        raise ModelError("no sentence has a label to turn round", where=NAME, fix="give labelled sentences")
    learnt, held = ([items[n][1] for n in part] for part in split_held_out([name for name, _ in items], 0.1, seed))
    schedule = settings.schedule(settings.epochs, sentences, 1e-3)
    key = training_key(NAME, (describe_training(settings), seed), items, "embedded", __name__)
    digest = load_or_train(shelf, key, network, lambda run: attribution.train(network, learnt, held, schedule, run))
    return network.eval(), digest
