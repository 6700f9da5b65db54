"""The surrogate for triplets: the fold's own ASTE model and discriminator, and a language model of its texts for the
perplexity.

In: sentences and, by their id, the triplets they have. Out: a `Surrogate`: a candidate is right if the whole triplet
set survives, which means that each triplet, moved to where it now stands, is judged right (YY) by tagger and
discriminator together, and its confidence is the weakest triplet's probability. A sentence
without triplets survives if the tagger still finds none.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np

from builder.augment.boost.classes import Classes, TwoWayConfig
from builder.augment.boost.classes import ClassTrainer as Plain
from builder.augment.boost.filters import SurrogateReading
from builder.augment.method_settings import BoostSettings
from builder.augment.records import Edit, Sentence, carried
from builder.augment.settings import AugmentSettings
from builder.core.errors import ConfigError, ModelError
from builder.core.files import key_of
from builder.core.progress import ModelBar
from builder.core.records import Triplet
from builder.learning.task import Config, DiscriminatorConfig, Example, TaggerConfig, discriminator_data, sized
from builder.models.agreement import FLOOR
from builder.models.discriminator import Discriminator, train_discriminator
from builder.models.shipped import YY, Shares, seen
from builder.models.tagger import Tagger, propose, train_tagger

Given = Mapping[str, tuple[Triplet, ...]]
_LEAST = 3e-3
"""No model is surer than this that a label is wrong."""


@dataclass(frozen=True, slots=True, eq=False)
class Triplets:
    """A fold's three models, and what the triplets of each sentence are."""

    tagger: Tagger
    discriminator: Discriminator
    language: Classes
    given: Given

    @property
    def digest(self) -> str:
        return key_of(self.tagger.digest, self.discriminator.digest, self.language.digest)

    def read(self, sentences: Sequence[Sentence], edits: Sequence[Sequence[Edit]] = ()) -> list[SurrogateReading]:
        """The label says how many of the sentence's triplets survive."""
        moves = edits or [()] * len(sentences)
        items = [
            Example(sentence.id, sentence.text, carried_triplets(self.given[sentence.id], sentence.text, move))
            for sentence, move in zip(sentences, moves, strict=True)
        ]
        predicted = propose(
            self.tagger.network, self.tagger.foundation, self.tagger.config, [item.text for item in items], FLOOR
        )
        asked = self.discriminator.shares(items)
        shares = [
            _mean(shown, seen(item.triplets, own)) for shown, item, own in zip(asked, items, predicted, strict=True)
        ]
        plain = self.language.read([bare(sentence) for sentence in sentences])
        out = []
        for sentence, item, rows, proposals, reading in zip(sentences, items, shares, predicted, plain, strict=True):
            wanted = len(self.given[sentence.id])
            if wanted:
                alive = int((rows.argmax(1) == YY).sum())
                sure = float(rows[:, YY].min()) if len(item.triplets) == wanted else 0.0
            else:
                sure = 1 - max((chance for chance, _ in proposals), default=0.0)
                alive = -sum(chance >= self.tagger.threshold for chance, _ in proposals)
            out.append(SurrogateReading(f"{alive}/{wanted}", alive == wanted, round(sure, 6), reading.perplexity))
        return out


def bare(sentence: Sentence) -> Sentence:
    """The text alone, to a language model."""
    return replace(sentence, marks=(), label=None)


def carried_triplets(triplets: Sequence[Triplet], text: str, edits: Sequence[Edit]) -> tuple[Triplet, ...]:
    """Those whose aspect and opinion no edit touches, where they now stand; the full phrases take in what was edited
    inside them.
    """
    out = []
    for triplet in triplets:
        aspect, opinion = (carried(part, text, edits) for part in (triplet.aspect, triplet.opinion))
        if aspect and opinion:
            whole = carried(triplet.aspect_full, text, edits, stretch=True) or aspect
            phrase = carried(triplet.opinion_full, text, edits, stretch=True) or opinion
            out.append(
                replace(triplet, aspect=aspect, aspect_full=whole, opinion=opinion, opinion_full=phrase, owner=None)
            )
    return tuple(out)


@dataclass(frozen=True, slots=True)
class TripletTrainer:
    """Trains a tagger, a discriminator and a language model on a fold. `epochs` 0: as variants A to E do, by the size
    of the fold.
    """

    given: Given
    threads: int = 2
    epochs: int = 0
    tagger: TaggerConfig = field(default_factory=TaggerConfig)
    judge: DiscriminatorConfig = field(default_factory=DiscriminatorConfig)
    language: TwoWayConfig = field(default_factory=TwoWayConfig)
    classes: bool = False

    @property
    def signature(self) -> str:
        return f"triplets {key_of(sorted(self.given.items()))} {self.epochs} {self.tagger} {self.judge} {self.language}"

    def fit(self, train: Sequence[Sentence], valid: Sequence[Sentence], seed: int, folder: Path) -> Triplets:
        """ModelError where the fold has no triplet to learn from."""
        if lacking := next((example.id for example in (*train, *valid) if example.id not in self.given), None):
            raise ModelError(
                "nobody says which triplets it has",
                where=f"sentence {lacking}",
                fix="give () for a sentence without triplets",
            )
        examples, held_out = (
            [Example(sentence.id, sentence.text, self.given[sentence.id]) for sentence in part]
            for part in (train, valid)
        )
        chars = sum(len(example.text) for example in examples)
        tagging, judging = self._sized(self.tagger, chars), self._sized(self.judge, chars)
        with closing(ModelBar("tagger", " words")) as progress:
            tagger = train_tagger(examples, held_out, tagging, seed, folder / "tagger", progress)
        judged, unseen = ([discriminator_data(example, seed) for example in part] for part in (examples, held_out))
        with closing(ModelBar("discriminator", " words")) as progress:
            discriminator = train_discriminator(judged, unseen, judging, seed, folder / "discriminator", progress)
        language = Plain(self.language, self.epochs, self.threads).fit(
            list(map(bare, train)), [], seed, folder / "language"
        )
        return Triplets(tagger, discriminator, language, self.given)

    def _sized(self, config: Config, chars: int) -> Config:
        made = replace(sized(config, chars), threads=self.threads)
        return replace(made, epochs=self.epochs) if self.epochs else made


def trainer(settings: AugmentSettings, own: BoostSettings, name: str = "boostaug") -> TripletTrainer:
    """As builder.augment.methods.boostaug asks for it, where the frame gives triplets.

    Raises:
        ConfigError: a base or a rate is set, which this surrogate has no use for.
    """
    changed = [key for key, plain in (("base", ""), ("rate", 0.0)) if getattr(own, key) != plain]
    if changed:
        raise ConfigError(
            f"{name}.{changed[0]} is set, but the surrogate for triplets is the embedded tagger and discriminator: "
            "a base tells labels, not which opinion is whose",
            where=name,
            fix=f"leave {name}.{changed[0]} out, or take another view (--view aspect or sentence)",
        )
    return TripletTrainer(settings.given.triplets, settings.threads, own.epochs)


def _mean(first: Shares, second: Shares) -> Shares:
    """[n, 3]: the normalised geometric mean of what the discriminator and the tagger say."""
    logs = (np.log(np.maximum(first, _LEAST)) + np.log(np.maximum(second, _LEAST))) / 2
    mixed = np.exp(logs)
    total: Shares = mixed / mixed.sum(1, keepdims=True)
    return total
