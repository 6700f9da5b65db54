"""Labels as training examples of the taggers. In: taggers trained on the rules' triplets, reviews of theirs, and
reviews that people labelled. Out: taggers with weights half-way between their own and those after a last pass.

The last pass reads some of the reviews that a tagger was trained on, and each labelled review several times over: that
is its weight. Labelled reviews alone make a tagger forget more than it learns, and so do weights that are not mixed
with those before (Wortsman et al. 2022; tests/measure/taught_taggers.py). A tagger learns no label of its own fold.
Which fold that is, the taggers keep by the text, so that no tagger ever speaks of a review that it was taught.
"""

from __future__ import annotations

import copy
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import torch

from builder.learning.loop import course_of, optimizer_of
from builder.learning.loop import train as learn
from builder.learning.task import Example, seed_of
from builder.models.cotrain import Taggers, digest_text, fold_of, save_taggers
from builder.models.saved import save
from builder.models.tagger import Tagger, learnable

_EPOCHS, _BATCH_CHARS, _RATE_SHARE = 3, 512, 0.25
_REHEARSED = 1000
"""Reviews of the rules that are read again in the last pass."""
_SHARE = 0.5
"""How far the weights move from those before the last pass to those after it."""


@dataclass(frozen=True, slots=True)
class TaughtExamples:
    """Labelled reviews, each with all of its triplets, and for how many reviews of the rules each of them counts."""

    examples: tuple[Example, ...]
    weight: int


def tune_taggers(
    taggers: Taggers, rule_examples: Sequence[Example], taught: TaughtExamples, seed: int, folder: Path | None = None
) -> Taggers:
    """The taggers after the labels of the other folds, saved to the `folder` where they lie if one is given.

    Without a label or a weight they are as they were.
    """
    if not taught.weight or not taught.examples:
        return taggers
    folds = len(taggers.members)
    rehearsed = sorted(rule_examples, key=lambda example: seed_of(seed, "rehearsed", example.id))
    members = []
    for fold, member in enumerate(taggers.members):
        own = [example for example in taught.examples if fold_of(example.id, folds) != fold]
        again = [example for example in rehearsed if fold_of(example.id, folds) != fold][:_REHEARSED]
        members.append(tune_tagger(member, [*own * taught.weight, *again], seed))
    places = {digest_text(example.text): fold_of(example.id, folds) for example in taught.examples}
    tuned = Taggers(tuple(members), places)
    if folder is not None:
        for fold, member in enumerate(members):
            save(member, folder / str(fold))
        save_taggers(tuned, folder)
    return tuned


def tune_tagger(tagger: Tagger, examples: Sequence[Example], seed: int) -> Tagger:
    """The tagger with weights half-way to those after a last pass over the examples. Its threshold stays."""
    config = replace(tagger.config, epochs=_EPOCHS, batch_chars=_BATCH_CHARS, rate=tagger.config.rate * _RATE_SHARE)
    network = copy.deepcopy(tagger.network)
    encoder = tagger.foundation.make_encoder(config)
    items = [window for example in examples for window in learnable(example, encoder, config)[0]]
    course = course_of(
        network,
        [len(item.text) for item in items],
        lambda chosen: network.loss([items[i] for i in chosen]),
        lambda: 0.0,
        config,
        seed_of(seed, "labels"),
    )
    learn(network, optimizer_of(network, config), course)
    before = tagger.network.state_dict()
    mixed = {
        name: torch.lerp(before[name], value, _SHARE) if value.is_floating_point() else value
        for name, value in network.state_dict().items()
    }
    network.load_state_dict(mixed)
    return replace(tagger, network=network.eval())
