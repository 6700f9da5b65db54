"""`cbert` (Wu et al. 2019): words are masked and predicted by a BERT that reads labels where segments stood. `bert`
is the same without label.

In: sentences with a label, or with marks. Out: candidates with `k` other words each, `rounds` times over (algorithm
1, steps 5 and 6; its M, the number of new sentences, is copies times sentences). Words inside marks are never masked.
Bases: `embedded`, an encoder trained on the sentences alone, or any BERT of a hub or a folder: `cbert` fine-tunes it
until its validation loss no longer falls, `bert` uses it as it is. Either base may learn from a corpus first; then an
encoder without a head for masked words will do.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from builder.augment.records import Sentence
from builder.augment.replacing import (
    ClozeModel,
    ClozeTraining,
    Masking,
    Replacing,
    Steps,
    Words,
    begin_on_corpus,
    in_turn,
    train_cloze,
    unit_inventory,
)
from builder.augment.training import MODES, Conditions, InDomain
from builder.core.limits import Limits, above_0, among, at_least

if TYPE_CHECKING:
    from builder.augment.nets.cloze import Cloze
    from builder.learning.obtain import ModelShelf
    from builder.learning.pieces import Inventory
    from builder.learning.task import Progress

NAME, PLAIN = "cbert", "bert"
CHOICES = ("sampled", "best")


@dataclass(frozen=True, slots=True)
class CBertSettings(InDomain):
    """Words are masked and filled under the label (Wu et al. 2019)."""

    labels: str = "auto"
    """What conditions a word: `auto` takes what the view has."""
    k: int = 2
    """Words masked in a candidate."""
    share: float = 0.0
    """Above 0: this share of the tokens is masked instead, each apart (Li et al. 2020 use 0.5)."""
    replacement: str = "sampled"
    """`sampled`, or `best`."""
    temperature: float = 1.0
    """Temperature of sampling."""
    rounds: int = 1
    """How often words are masked and filled in one candidate."""
    again: bool = False
    """A word may be replaced by itself."""
    mask: float = 0.15
    """Share of the words masked in training."""
    layers: int = 4
    """Layers of the embedded model."""

    def limits(self) -> Limits:
        return InDomain.limits(self) | {
            "labels": among(MODES, self.labels),
            "replacement": among(CHOICES, self.replacement),
            **{name: at_least(1, getattr(self, name)) for name in ("k", "rounds", "layers")},
            "share": (0 <= self.share < 1, "a share from 0 to below 1"),
            "mask": (0 < self.mask < 1, "a share above 0 and below 1"),
            "temperature": above_0(self.temperature),
        }


def load(
    settings: CBertSettings,
    sentences: Sequence[Sentence],
    folder: Path,
    seed: int = 0,
    progress: Progress | None = None,
    name: str = NAME,
    corpus: Sequence[Sentence] = (),
    device: str = "auto",
) -> Replacing:
    """`cbert`, or `bert` by that name, with the model of these sentences and settings: read from `folder` or trained
    and kept there. `corpus` are the raw sentences that `settings.corpus` names.

    Raises ModelError for a base that is no BERT, InputError where labels overlap.
    """
    from builder.learning.obtain import ModelShelf

    conditions = Conditions.of("none" if name == PLAIN else settings.labels, sentences)
    model, digest = trained(settings, sentences, conditions, ModelShelf(folder, seed, progress, device), name, corpus)
    plan = (
        partial(individually, settings.share) if settings.share else partial(words_at_once, settings.k, settings.rounds)
    )
    heat = settings.temperature if settings.replacement == "sampled" else 0.0
    return Replacing(name, settings, model, plan, digest, heat, not settings.again, progress)


def trained(
    settings: CBertSettings,
    sentences: Sequence[Sentence],
    conditions: Conditions,
    shelf: ModelShelf,
    name: str,
    corpus: Sequence[Sentence] = (),
) -> tuple[ClozeModel, str]:
    """The conditional masked language model and its digest: read from the shelf, or trained and kept there."""
    from builder.augment.nets import cloze

    network: Cloze
    inventory: Inventory
    if settings.base != "embedded":
        network, inventory, base = cloze.based(settings.base, len(conditions.names), shelf.seed, bool(corpus))
    else:
        inventory, base = unit_inventory(corpus or sentences, False, settings.min_count), "embedded"
        network = cloze.embedded(inventory.size, len(conditions.names), settings.width, settings.layers, shelf.seed)
    model = ClozeModel(network, inventory, conditions)
    if corpus:
        base = _train_on_corpus(settings, corpus, model, shelf)
    phases = []
    if settings.base == "embedded" and not corpus and (settings.pretrain_epochs or name == PLAIN):
        epochs = settings.pretrain_epochs or settings.epochs
        phases.append((settings.schedule(epochs, sentences, settings.own_rate), False))
    if name != PLAIN:
        phases.append((settings.schedule(settings.epochs, sentences, settings.own_rate), True))
    masking = Masking(max(settings.mask, settings.share), hidden=True)
    training = ClozeTraining(name, _describe(settings, masking.share), phases, masking, base)
    return model, train_cloze(model, sentences, training, shelf)


def _train_on_corpus(settings: CBertSettings, corpus: Sequence[Sentence], model: ClozeModel, shelf: ModelShelf) -> str:
    """Begin with an unconditional model that learns from the corpus; its digest."""
    from builder.augment.nets import cloze

    first, base = settings.begun(), "embedded"
    if settings.base != "embedded":
        network, _, base = cloze.based(settings.base, 1, shelf.seed, True)
    else:
        network = cloze.embedded(model.inventory.size, 1, first.width, first.layers, shelf.seed)
    phases = [(first.schedule(first.epochs, corpus, first.own_rate), False)]
    masking = Masking(max(settings.mask, settings.share), hidden=True)
    training = ClozeTraining(PLAIN, _describe(first, masking.share), phases, masking, base)
    return begin_on_corpus(model, network, corpus, training, shelf)


def _describe(settings: CBertSettings, mask: float) -> str:
    """What a trained model depends on besides its data."""
    kept = ("base", "rate", "width", "layers", "min_count", "least", "batch_tokens", "epochs", "pretrain_epochs")
    return " ".join([str(mask), *(str(getattr(settings, name)) for name in kept)])


def words_at_once(k: int, rounds: int, words: Words, draw: random.Random) -> Steps:
    """`k` whole words a round; a word's tokens are predicted in turn, words of a round side by side."""
    steps: list[tuple[tuple[int, ...], tuple[int, ...]]] = []
    left: Words = ()
    for _ in range(rounds):
        left = left or tuple(draw.sample(words, len(words)))
        chosen, left = left[:k], left[k:]
        steps += in_turn(chosen)
    return tuple(steps)


def individually(share: float, words: Words, draw: random.Random) -> Steps:
    """A share of the tokens, each predicted without the others (Li et al. 2020, appendix A)."""
    tokens = [at for word in words for at in word]
    chosen = tuple(sorted(draw.sample(tokens, max(1, round(share * len(tokens))))))
    return ((chosen, chosen),)
