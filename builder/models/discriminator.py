"""The embedded judge: which triplets of a review are right (YY), right but for the polarity (YN), or no pair at all
(NX).

The trunk reads a review once, whatever its length, and scores all its triplets from the vectors of their spans. The
three probabilities are built as the two questions of section 3.3.2 are asked: NX = 1 - P(pair), YY = P(pair)
P(polarity | pair), YN is the rest. So a polarity is learnt from YY and YN of the same pair at once, and the random
polarity of an NX triplet teaches nothing.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn
from torch.nn import functional

from builder.core.errors import ModelError
from builder.core.records import POLARITIES, VERDICTS, Verdict
from builder.core.wording import counted
from builder.learning.checkpoint import Checkpoints, fingerprint, tensor_digest
from builder.learning.devices import answer_batches, device_of, place
from builder.learning.encode import Encoded, IntArray, TextEncoder, batches, collate
from builder.learning.loop import course_of, optimizer_of, scope
from builder.learning.loop import train as learn
from builder.learning.task import DiscriminatorConfig, Example, JudgedReview, Progress, seed_of
from builder.models.network import CharacterFoundation, Foundation, PairScorer, Spans, TextContext

YY, YN, NX = (VERDICTS.index(verdict) for verdict in ("YY", "YN", "NX"))


@dataclass(frozen=True, slots=True, eq=False)
class EncodedReview:
    """A text with triplets [n, 5] (aspect start, end, opinion start, end, polarity index) and their verdicts [n]."""

    text: Encoded
    triplets: IntArray
    verdicts: IntArray


class DiscriminatorNetwork(nn.Module):
    """Log-probabilities of YY, YN, NX for every triplet of a batch: [P, 3]."""

    def __init__(self, foundation: Foundation, config: DiscriminatorConfig) -> None:
        super().__init__()
        self.pairs = PairScorer(config.width, config.pair_size, 0, config.dropout)
        self.trunk = foundation.make_trunk(config)

    def forward(self, items: Sequence[EncodedReview]) -> Tensor:
        device = device_of(self)
        batch = place(collate([item.text for item in items]), device)
        context = TextContext.of(batch, self.trunk(batch))
        row = torch.from_numpy(np.repeat(np.arange(len(items)), [len(item.triplets) for item in items])).to(device)
        flat = torch.from_numpy(np.concatenate([item.triplets for item in items]).astype(np.int64)).to(device)
        aspects, opinions = Spans(row, flat[:, 0], flat[:, 1]), Spans(row, flat[:, 2], flat[:, 3])
        every = torch.arange(len(flat), device=device)
        pair, polarity = self.pairs(context, aspects, opinions, (every, every), context.hidden.new_zeros(len(flat), 1))
        right = polarity.log_softmax(-1)
        wrong = torch.stack([right[:, [j for j in range(3) if j != i]].logsumexp(-1) for i in range(3)], -1)
        yes, chosen = functional.logsigmoid(pair), flat[:, 4:]
        out = [
            yes + right.gather(1, chosen).squeeze(1),
            yes + wrong.gather(1, chosen).squeeze(1),
            functional.logsigmoid(-pair),
        ]
        return torch.stack(out, -1)


@dataclass(frozen=True, slots=True, eq=False)
class Discriminator:
    """A trained judge; `facts` says how it was trained."""

    network: DiscriminatorNetwork
    foundation: Foundation
    config: DiscriminatorConfig
    facts: dict[str, float] = field(default_factory=dict)

    @property
    def digest(self) -> str:
        settings = {"config": asdict(self.config), **self.foundation.settings}
        return tensor_digest(self.network.state_dict(), json.dumps(settings, sort_keys=True))[:16]

    def classify(
        self, items: Sequence[Example], progress: Progress | None = None
    ) -> list[tuple[tuple[Verdict | None, float], ...]]:
        """Per item and triplet the most probable label and the probability of YY."""
        return [
            tuple((VERDICTS[row.index(max(row))], round(row[YY], 4)) for row in rows.tolist())
            for rows in self.shares(items, progress)
        ]

    def shares(self, items: Sequence[Example], progress: Progress | None = None) -> list[NDArray[np.float64]]:
        """Per item [n, 3]: the probabilities of YY, YN, NX."""
        encoder = self.foundation.make_encoder(self.config)
        ready = [
            _item(encoder, JudgedReview(item.id, item.text, tuple((t, "YY") for t in item.triplets))) for item in items
        ]
        return [
            rows.double().numpy()
            for rows in probabilities(self.network, self.foundation.device, self.config, ready, progress)
        ]


def probabilities(
    network: DiscriminatorNetwork,
    device: torch.device,
    config: DiscriminatorConfig,
    items: Sequence[EncodedReview],
    progress: Progress | None = None,
) -> list[Tensor]:
    """What the discriminator says of the triplets of each review (paper, section 3.3.2).

    Returns:
        For each review a tensor [triplets, 3]: the probabilities of YY, YN and NX, in the order of its triplets.
    """
    out = [torch.empty(0, 3)] * len(items)
    asked = [i for i, item in enumerate(items) if len(item.triplets)]
    lengths = [len(items[i].text) for i in asked]
    network.to(device).eval()

    def score(chosen: list[int]) -> tuple[Tensor, ...]:
        batch = [items[asked[i]] for i in chosen]
        return torch.split(network(batch).exp().cpu(), [len(item.triplets) for item in batch])

    with scope(config.threads, device=device), torch.inference_mode():
        order = batches(lengths, config.batch_chars)
        for chosen, scored in answer_batches(order, score, lengths, progress, "judging"):
            for i, rows in zip(chosen, scored, strict=True):
                out[asked[i]] = rows
    return out


def train_discriminator(
    train: Sequence[JudgedReview],
    valid: Sequence[JudgedReview],
    config: DiscriminatorConfig,
    seed: int,
    checkpoints: Path,
    progress: Progress | None = None,
    foundation: Foundation | None = None,
) -> Discriminator:
    """Train from the base weights of `seed`; the epoch with the best accuracy on `valid` wins, without `valid` the
    last. Without a `foundation` it stands on the characters of its training texts.

    Raises ModelError where there is nothing to learn.
    """
    if not any(item.verdicts for item in train):
        raise ModelError(
            f"no judged triplet in {counted(len(train), 'training item')}",
            where="discriminator",
            fix="train on reviews with triplets",
        )
    base = foundation or CharacterFoundation.of((item.text for item in train), config.min_count)
    with scope(config.threads, seed_of(seed, "base")):
        network = DiscriminatorNetwork(base, config)
        base.begin(network.trunk, seed)
    network.to(base.device)
    items = encoded(base, config, (item for item in train if item.verdicts))
    held_out = encoded(base, config, valid)

    def loss(chosen: list[int]) -> Tensor:
        batch = [items[i] for i in chosen]
        wanted = torch.from_numpy(np.concatenate([item.verdicts for item in batch]).astype(np.int64))
        return functional.nll_loss(network(batch), wanted.to(base.device))

    def evaluate() -> float:
        return accuracy(probabilities(network, base.device, config, held_out), held_out)

    def count_verdicts(chosen: list[int]) -> float:
        return float(sum(len(items[i].verdicts) for i in chosen))

    unique = identify_training(train, valid, config, seed, base.mark)
    course = course_of(network, [len(item.text) for item in items], loss, evaluate, config, seed, count_verdicts)
    fitted = learn(network, optimizer_of(network, config), course, Checkpoints(checkpoints, unique), progress)
    facts = {
        "valid_accuracy": fitted.score,
        "epoch": fitted.epoch,
        "examples": len(train),
        "triplets": sum(len(item.verdicts) for item in items),
    }
    return Discriminator(network, base, config, facts)


def identify_training(
    train: Sequence[JudgedReview], valid: Sequence[JudgedReview], config: DiscriminatorConfig, seed: int, mark: str
) -> str:
    """The fingerprint of a discriminator's training on a foundation of this `mark`."""
    data = ((len(part), ((item.text, item.verdicts) for item in part)) for part in (train, valid))
    return fingerprint(f"discriminator{mark}", config, seed, *data)


def accuracy(predictions: Sequence[Tensor], items: Sequence[EncodedReview]) -> float:
    """The share of triplets whose most probable label is theirs."""
    right = sum(
        int((rows.argmax(-1) == torch.from_numpy(item.verdicts)).sum())
        for rows, item in zip(predictions, items, strict=True)
    )
    return right / max(1, sum(len(item.verdicts) for item in items))


def encoded(foundation: Foundation, config: DiscriminatorConfig, items: Iterable[JudgedReview]) -> list[EncodedReview]:
    """What a network learns from."""
    encoder = foundation.make_encoder(config)
    return [_item(encoder, item) for item in items]


def _item(encoder: TextEncoder, item: JudgedReview) -> EncodedReview:
    """The triplets stand at their terms and core opinions (aspect, opinion), from the first to the last character."""
    rows = [
        [t.aspect.start, t.aspect.end, t.opinion.start, t.opinion.end, POLARITIES.index(t.polarity)]
        for t, _ in item.verdicts
    ]
    for start, end, first, last, _ in rows:
        if not (0 <= start < end <= len(item.text) and 0 <= first < last <= len(item.text)):
            raise ModelError(
                f"a triplet stands outside the {len(item.text)} characters of its text", where=f"review {item.id}"
            )
    labels = [VERDICTS.index(verdict) for _, verdict in item.verdicts]
    return EncodedReview(encoder(item.text), np.array(rows, np.int32).reshape(-1, 5), np.array(labels, np.int32))
