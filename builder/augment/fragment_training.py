"""How the network of `masked-seq2seq` is trained: sentences are drawn with their fragments (Li et al. 2020, algorithm
1), without their labels first, then with them.

In: labelled sentences, a network and its tokens. Out: the network with its weights, and their digest.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import accumulate, starmap
from typing import TYPE_CHECKING

from builder.augment.conditions import bio, kept
from builder.augment.fragment_settings import NAME, MaskedSeq2SeqSettings
from builder.augment.mask_frag import fragment, mask_frag, starts, weight
from builder.augment.records import Sentence
from builder.augment.training import describe_training
from builder.core.errors import ModelError
from builder.core.records import Span

if TYPE_CHECKING:
    from builder.augment.nets.seq2seq import LabelledSeq2Seq, MaskedSentence
    from builder.learning.obtain import ModelShelf, Phase, TrainingRun
    from builder.learning.pieces import Inventory

_FASTER = 3
"""The embedded network takes so many times the learning rate of other embedded ones: at theirs a pass over a corpus
leaves it half taught.
"""
_RANDOM, _OWN = 0.1, 0.1
"""Of the tokens that MASS hides, these shares are another token and the token itself (Song et al. 2019)."""
LabelledTokens = tuple[tuple[int, ...], tuple[int, ...]]
"""The tokens of a sentence, and a label of each."""


def masked(
    ids: Sequence[int], labels: Sequence[int], span: Span, inventory: Inventory, held: Sequence[object] = ()
) -> MaskedSentence:
    """MaskFrag as a model's example; `held` are the tokens that stay, if more do than those with a label."""
    from builder.augment.nets.seq2seq import MaskedSentence

    first, end = span
    hidden = mask_frag(ids, held or labels, span, inventory.mask)
    return MaskedSentence(
        hidden,
        tuple(labels),
        first,
        tuple(ids[first:end]),
        ids[first - 1] if first else inventory.first,
        labels[first - 1] if first else 0,
    )


def noisy(
    item: MaskedSentence, ids: Sequence[int], mask: int, others: Sequence[int], draw: random.Random
) -> MaskedSentence:
    """The example as MASS hides it: of the masked tokens some are others, and some are shown as they are."""
    shown = list(item.source)
    for at in (at for at, token in enumerate(item.source) if token == mask):
        chance = draw.random()
        if chance < _RANDOM + _OWN:
            shown[at] = draw.choice(others) if chance < _RANDOM else ids[at]
    return replace(item, source=tuple(shown))


@dataclass(frozen=True, slots=True)
class FragmentSource:
    """Sentences as tokens and labels, with the cumulated weights of equation 1; fragments of share `r` are drawn.
    `others`: the tokens that MASS draws from, none where a hidden token is always the mask.
    """

    sentences: tuple[LabelledTokens, ...]
    cumulated: tuple[float, ...]
    inventory: Inventory
    r: float
    others: tuple[int, ...] = ()

    @classmethod
    def of(
        cls, sentences: Sequence[LabelledTokens], inventory: Inventory, r: float, masking: str = "mask"
    ) -> FragmentSource:
        others = tuple(sorted({i for ids, _ in sentences for i in ids})) if masking == "mass" else ()
        return cls(tuple(sentences), tuple(accumulate(weight(len(ids)) for ids, _ in sentences)), inventory, r, others)

    def draw(self, count: int, seed: int, labelled: bool) -> list[MaskedSentence]:
        """`count` sentences with replacement and a start each (algorithm 1, lines 4 to 6); without labels, in
        pre-training, every token is O.
        """
        draw = random.Random(seed)
        out = []
        for n in draw.choices(range(len(self.sentences)), cum_weights=self.cumulated, k=count):
            ids, labels = self.sentences[n]
            shown_labels = labels if labelled else (0,) * len(ids)
            u = draw.choice(starts(len(ids), self.r))
            item = masked(ids, shown_labels, fragment(len(ids), u, self.r), self.inventory)
            if self.others and not labelled:
                item = noisy(item, ids, self.inventory.mask, self.others, draw)
            out.append(item)
        return out


def learnable(ids: Sequence[int], network: LabelledSeq2Seq) -> bool:
    """Whether a network is trained on a sentence: it is neither too short nor too long."""
    return bool(weight(len(ids))) and len(ids) < network.core.longest


def train_fragments(
    settings: MaskedSeq2SeqSettings,
    sentences: Sequence[Sentence],
    network: LabelledSeq2Seq,
    inventory: Inventory,
    base: str,
    shelf: ModelShelf,
    phases: Sequence[tuple[int, bool]],
) -> str:
    """Give `network` its weights: those on the shelf, or those that training in phases of (epochs, with labels) leads
    to. `base` names the weights that training begins with. Returns the digest.
    """
    from builder.augment.nets import fragments
    from builder.learning.obtain import Phase, load_or_train, split_held_out, training_key

    tokens = [_labelled_tokens(sentence, inventory, settings.keep) for sentence in sentences]
    long_enough = [n for n, (ids, _) in enumerate(tokens) if learnable(ids, network)]
    if not long_enough:
        raise ModelError(
            f"no sentence of more than five tokens to learn from (of {len(sentences)})",
            where=NAME,
            fix="give more training text",
        )
    data = [
        (sentence.id, sentence.text, sentence.words, labels)
        for sentence, (_, labels) in zip(sentences, tokens, strict=True)
    ]
    seed = shelf.seed
    key = training_key(NAME, (describe_training(settings), seed), data, base, __name__)
    parts = split_held_out([sentences[n].id for n in long_enough], 0.05, seed)
    learnt, held = ([tokens[long_enough[n]] for n in part] for part in parts)
    source, checked = (FragmentSource.of(part, inventory, settings.r, settings.masking) for part in (learnt, held))
    network.labels.weight.requires_grad_(settings.label_embeddings)

    def phase(epochs: int, labelled: bool) -> Phase[MaskedSentence]:
        count = max(len(learnt), settings.least)
        rate = settings.own_rate * (_FASTER if settings.base == "embedded" else 1)
        return Phase(
            lambda epoch: source.draw(count, _seed(seed, labelled, epoch), labelled),
            checked.draw(max(200, len(held)), seed, labelled),
            settings.schedule(epochs, sentences, rate),
        )

    def train(run: TrainingRun) -> dict[str, float]:
        return fragments.train(network, list(starmap(phase, phases)), inventory, run)

    return load_or_train(shelf, key, network, train)


def _labelled_tokens(sentence: Sentence, inventory: Inventory, keep: str) -> LabelledTokens:
    cut = inventory.cut(sentence.text, sentence.words)
    return cut.ids, bio(cut.spans, kept(sentence, keep))


def _seed(*parts: object) -> int:
    from builder.learning.task import seed_of

    return seed_of(NAME, *parts)
