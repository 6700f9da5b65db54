"""`style-transfer` (Wu et al. 2019, section 5): what makes a sentence's label is masked and refilled under the
opposite one.

In: sentences with a label, or with marks that have polarities. Out: candidates that are meant to say the opposite; a
counterfactual set, once a discriminator has passed it. Three cases. Opinions are marked: one of them gives way to an
opinion of the opposite polarity from the training sentences, the one that the conditional model finds fitting there;
`changed` says its polarity and valence. Aspects alone are marked, all of one polarity, or the sentence has a label:
the words that speak most for it (left out, a classifier is less sure) are refilled under the opposite label.
"""

from __future__ import annotations

import math
import random
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import TYPE_CHECKING

from builder.augment.conditions import Conditions, free_words
from builder.augment.methods import cbert
from builder.augment.opposites import OPPOSITE, Opinion, head, label_of, middle, opinions_of, opposites, turned
from builder.augment.records import Changed, Edit, Mark, Rewrite, Sentence
from builder.augment.replacing import Steps, Words, distinct, edited, unit_inventory
from builder.augment.signatures import LATER, describe_settings, describe_training
from builder.augment.token_labels import kept
from builder.augment.training import InDomain
from builder.errors import ConfigError, ModelError

if TYPE_CHECKING:
    from builder.augment.nets.attribution import Classifier
    from builder.augment.nets.cloze import Cloze
    from builder.learning.pieces import Cut, Inventory
    from builder.learning.task import Progress

NAME = "style-transfer"


@dataclass(frozen=True, slots=True)
class StyleTransferSettings(InDomain):
    """The words that make the label are refilled under the opposite one. The model is that of `cbert`."""

    labels: str = "auto"
    """Which label is turned: `auto`, `sentence` or `polarity`."""
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

    def __post_init__(self) -> None:
        InDomain.__post_init__(self)
        if self.labels not in ("auto", "sentence", "polarity"):
            raise ConfigError(
                f"labels {self.labels!r} have no opposite", where=NAME, fix="known: auto, sentence, polarity"
            )
        if self.words < 1 or not 0 < self.share <= 1:
            raise ConfigError("words is at least 1, share a share above 0", where=NAME)
        self.filler()

    def filler(self) -> cbert.CBertSettings:
        """The settings of the conditional model."""
        names = {field_.name for field_ in fields(cbert.CBertSettings)} - {"share"}
        shared = {field_.name: getattr(self, field_.name) for field_ in fields(self) if field_.name in names}
        return cbert.CBertSettings(**shared)


@dataclass(frozen=True, slots=True, eq=False)
class StyleTransfer:
    """The trained models as a Method. `units` are the classifier's tokens, `valences` those of opinions by their text."""

    settings: StyleTransferSettings
    network: Cloze
    inventory: Inventory
    conditions: Conditions
    judge: Classifier
    units: Inventory
    opinions: tuple[Opinion, ...]
    valences: Mapping[str, float]
    digest: str
    progress: Progress | None = None

    @property
    def name(self) -> str:
        return NAME

    @property
    def signature(self) -> str:
        return f"{NAME}({describe_settings(self.settings)}; labels={self.conditions.mode}; model {self.digest[:16]})"

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
        from builder.learning.seeds import seed_of

        marks = kept(sentence, "aspect+opinion")
        cut = self.inventory.cut(sentence.text, sentence.words)
        if not len(cut) or len(cut) + 8 > self.network.longest:
            return ()
        draw = random.Random(seed_of(seed, NAME, sentence.id, sentence.text))
        if self.conditions.mode == "polarity" and any(mark.kind == "opinion" for mark in marks):
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
        listed = [(mark, place) for place in range(copies) for mark in turns if place < len(ranked[mark])]
        for mark, place in listed[:copies]:
            score, new = ranked[mark][place]
            valence = self.valences.get(new.text, middle(new.polarity))
            changed = Changed(mark.start, mark.end, new.text, new.polarity, valence)
            yield Rewrite(sentence.id, (Edit(mark.start, mark.end, new.text),), score, None, (changed,))

    def _ranked(self, sentence: Sentence, cut: Cut, mark: Mark, draw: random.Random) -> list[tuple[float, Opinion]]:
        """Opinions of the opposite polarity: first those that are said of such an aspect elsewhere (no table is
        tender), and of them those that the model expects there: by mean log-probability of a token, with Gumbel noise
        if sampled.
        """
        from builder.augment.nets.attribution import fitting

        tokens = [at for at, (start, end) in enumerate(cut.spans) if start < mark.end and mark.start < end]
        if not tokens or cut.spans[tokens[0]][0] < mark.start or cut.spans[tokens[-1]][1] > mark.end:
            return []
        wanted = OPPOSITE[mark.polarity]
        labels = self.conditions.labels(turned(sentence, mark), cut.spans)
        fits = [
            opinion
            for opinion in self.opinions
            if opinion.polarity == wanted and opinion.text != sentence.text[mark.start : mark.end]
        ]
        lengths = sorted({len(fit.ids) for fit in fits})
        if not lengths:
            return []
        describe_settings = fitting(
            self.network, cut.ids, labels, (tokens[0], tokens[-1] + 1), self.inventory.mask, lengths
        )
        scores = [
            sum(float(describe_settings[len(fit.ids)][t, i]) for t, i in enumerate(fit.ids)) / len(fit.ids)
            for fit in fits
        ]
        heat = self.settings.temperature if self.settings.replacement == "sampled" else 0.0
        noise = [-math.log(-math.log(draw.random() or 1e-12)) * heat for _ in fits]
        own = head(sentence, mark)
        order = sorted(
            range(len(fits)), key=lambda n: (own not in fits[n].heads, -(scores[n] + noise[n]), fits[n].text)
        )
        return [(round(scores[n], 2), fits[n]) for n in order]

    def _refilled(
        self, sentence: Sentence, cut: Cut, marks: Sequence[Mark], copies: int, draw: random.Random
    ) -> Iterator[Rewrite]:
        """The words that speak for the label, under the opposite one."""
        from builder.augment.nets.filling import Fill, fill

        label = self._label(sentence, marks)
        opposite = None if label is None else opposites(self.conditions, self.settings.opposite).get(label)
        chosen = self._speaking(sentence, cut, marks, label) if opposite else ()
        if opposite is None or label is None or not chosen:
            return
        number = self.conditions.names.index(opposite)
        first = frozenset(word[0] for word in chosen)
        heat = self.settings.temperature if self.settings.replacement == "sampled" else 0.0
        seeds = [draw.getrandbits(62) for _ in range(copies)]
        items = [Fill(cut.ids, (number,) * len(cut), in_turn(chosen), first, each, heat) for each in seeds]
        aspects = tuple(
            Changed(
                mark.start,
                mark.end,
                sentence.text[mark.start : mark.end],
                OPPOSITE[mark.polarity],
                middle(OPPOSITE[mark.polarity]),
            )
            for mark in marks
            if self.conditions.mode == "polarity" and mark.polarity in OPPOSITE
        )
        said = opposite if self.conditions.mode == "sentence" else None
        for item in items:  # each alone: copies of one sentence are no batch
            _, (new, score) = next(fill(self.network, [item], self.inventory, 1, self.settings.threads))
            if edits := edited(self.inventory, sentence, cut, {at: i for at, i in new.items() if i != cut.ids[at]}):
                yield Rewrite(sentence.id, edits, score, said, aspects)

    def _label(self, sentence: Sentence, marks: Sequence[Mark]) -> str | None:
        """The sentence's label, or the polarity that all of its aspects have."""
        return label_of(sentence, marks, self.conditions)

    def _speaking(self, sentence: Sentence, cut: Cut, marks: Sequence[Mark], label: str | None) -> Words:
        """The free words with the highest contributions to the label, as tokens of the conditional model."""
        from builder.augment.nets.attribution import contributions

        known = self.units.cut(sentence.text, sentence.words)
        words = free_words(sentence, cut.spans, marks)
        if not len(known) or len(known) > self.judge.longest or label is None:
            return ()
        spans = [(cut.spans[word[0]][0], cut.spans[word[-1]][1]) for word in words]
        tokens = [tuple(at for at, (a, b) in enumerate(known.spans) if start <= a and b <= end) for start, end in spans]
        sums = contributions(self.judge, known.ids, tokens, self.conditions.names.index(label))
        most = max(sums, default=0.0)
        order = sorted(range(len(words)), key=lambda n: (-sums[n], n))[: self.settings.words]
        return tuple(words[n] for n in sorted(order) if most > 0 and sums[n] >= self.settings.share * most)


def in_turn(words: Words) -> Steps:
    """All words side by side, the tokens of each in turn."""
    return tuple(
        (
            tuple(sorted(word[turn] for word in words if turn < len(word))),
            tuple(sorted(at for word in words for at in word[turn:])),
        )
        for turn in range(max(map(len, words)))
    )


def load(
    settings: StyleTransferSettings,
    sentences: Sequence[Sentence],
    folder: Path,
    seed: int = 0,
    progress: Progress | None = None,
    valences: Mapping[str, float] | None = None,
    corpus: Sequence[Sentence] = (),
) -> StyleTransfer:
    """The method with the conditional model and the classifier of these sentences: read from `folder` or trained and
    kept there.

    `valences`: of opinions by their text, as a lexicon has them. Raises ModelError where no sentence has a label to
    turn round.
    """
    conditions = Conditions.of(settings.labels, sentences)
    if conditions.mode not in ("sentence", "polarity"):
        raise ModelError(
            "the sentences have neither labels nor polarities",
            where=NAME,
            fix="style-transfer turns labels round: give labelled sentences",
        )
    network, inventory, digest = cbert.trained(
        settings.filler(), sentences, conditions, folder / "cbert", seed, progress, cbert.NAME, corpus
    )
    units = unit_inventory(sentences, False, settings.min_count)
    judge, judged = _judge(settings, sentences, conditions, units, folder / "classifier", seed, progress)
    found = opinions_of(sentences, inventory) if conditions.mode == "polarity" else ()
    known = {one.text: (valences or {}).get(one.text, middle(one.polarity)) for one in found}
    return StyleTransfer(
        settings, network, inventory, conditions, judge, units, found, known, _both(digest, judged, known), progress
    )


def _both(*parts: object) -> str:
    import hashlib

    return hashlib.sha256(repr(parts).encode("utf-8", "surrogatepass")).hexdigest()


def _judge(
    settings: StyleTransferSettings,
    sentences: Sequence[Sentence],
    conditions: Conditions,
    units: Inventory,
    folder: Path,
    seed: int,
    progress: Progress | None,
) -> tuple[Classifier, str]:
    from builder.augment.nets import attribution
    from builder.learning.obtain import ModelShelf, load_or_train, split_held_out, training_key

    network = attribution.classifier(units.size, len(conditions.names), settings.width, 2, seed)
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
    digest = load_or_train(
        ModelShelf(folder, seed, progress),
        key,
        network,
        lambda run: attribution.train(network, learnt, held, schedule, run),
    )
    return network.eval(), digest
