"""In-domain pre-training of the trunk: masked characters of the raw reviews. In: texts. Out: a `Base`.

The base model M of Algorithm 1 (paper, section 3.3.1) is pre-trained there, and nothing is downloaded here: so the reviews themselves teach
the trunk what stands beside what, before any rule is asked. Tagger and discriminator of every round and variant start from it.
A masked character hides its own vector and the bigrams that hold it.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path

import torch
from torch import Tensor, nn
from torch.nn import functional

from builder.errors import ModelError
from builder.model.checkpoint import fingerprint, tensor_digest
from builder.model.encode import SPECIAL, UNK, Batch, Encoded, Encoder, Vocabulary, collate, windows
from builder.model.network import Trunk, base_weights, seed_of
from builder.model.task import PretrainConfig, Progress
from builder.model.training import fit, scope

MASKED_BIGRAM = 0


@dataclass(frozen=True, slots=True, eq=False)
class Base:
    """What the models of a build start from: the trunk's vocabulary and weights; `facts` says how it was trained."""

    trunk: Trunk
    vocabulary: Vocabulary
    config: PretrainConfig
    facts: dict[str, float] = field(default_factory=dict)

    @property
    def digest(self) -> str:
        settings = {"config": asdict(self.config), "vocabulary": self.vocabulary.codes}
        return tensor_digest(self.trunk.state_dict(), json.dumps(settings, sort_keys=True))[:16]


class MaskedCharacters(nn.Module):
    """The trunk with a scorer of characters tied to its embedding."""

    def __init__(self, vocabulary: Vocabulary, config: PretrainConfig) -> None:
        super().__init__()
        self.share = config.masked
        self.mix = nn.Linear(config.width, config.char_size)
        self.norm = nn.LayerNorm(config.char_size)
        self.trunk = Trunk(vocabulary, config)
        self.bias = nn.Parameter(torch.zeros(len(vocabulary)))

    def forward(self, batch: Batch, hidden: Tensor) -> tuple[Tensor, Tensor]:
        """Scores [M, V] and characters [M] of the positions hidden."""
        vectors = self.norm(functional.gelu(self.mix(self.trunk(masked(batch, hidden))[hidden])))
        return functional.linear(vectors, self.trunk.chars.weight, self.bias), batch.ids[hidden]

    def loss(self, texts: Sequence[Encoded]) -> Tensor:
        """Mean negative log-likelihood of a random share of the known characters; which, torch's random state says."""
        batch = collate(texts)
        return functional.cross_entropy(*self(batch, chosen(batch, self.share)))


def chosen(batch: Batch, share: float) -> Tensor:
    """[B, T] true where a character is to be guessed: about `share` of those that the vocabulary knows, one at least."""
    known = batch.ids >= SPECIAL
    draw = torch.rand(batch.ids.shape).masked_fill(~known, 2.0)
    return (draw < share) | ((draw == draw.min()) & known)


def masked(batch: Batch, hidden: Tensor) -> Batch:
    """The batch as the trunk may see it: nothing at `hidden` but the place."""
    around = functional.pad(hidden, (0, 1)) | functional.pad(hidden, (1, 0))
    return Batch(
        ids=batch.ids.masked_fill(hidden, UNK),
        bigrams=batch.bigrams.masked_fill(around, MASKED_BIGRAM),
        clause=batch.clause,
        sentence=batch.sentence,
        mask=batch.mask,
    )


def pretrain(texts: Sequence[str], config: PretrainConfig, seed: int, checkpoints: Path, progress: Progress | None = None) -> Base:
    """Train the trunk on `texts`; one text in fifty is held out, and its accuracy chooses the epoch."""
    vocabulary = Vocabulary.of(texts, config.min_count)
    encoder = Encoder(vocabulary, config.bigram_buckets)
    pieces = [encoder(text[a:b]) for text in texts for a, b in windows(text, config.window)]
    held_out, train = pieces[::50], [piece for i, piece in enumerate(pieces) if i % 50]
    if not train:
        raise ModelError(f"{len(texts)} reviews are too few to learn from", where="pre-training", fix="use more reviews")
    with scope(config.threads, seed_of(seed, "pretrain")):
        network = MaskedCharacters(vocabulary, config)
        base_weights(network.trunk, vocabulary, seed)

    def evaluate() -> float:
        right = total = 0
        with scope(config.threads, seed_of(seed, "masks")), torch.inference_mode():
            for at in range(0, len(held_out), 32):
                batch = collate(held_out[at : at + 32])
                scores, due = network(batch, chosen(batch, config.masked))
                right, total = right + int((scores.argmax(-1) == due).sum()), total + len(due)
        return right / max(1, total)

    unique = fingerprint("pretrain", config, seed, [(text, []) for text in texts])
    lengths = [len(piece) for piece in train]
    fitted = fit(network, lengths, lambda at: network.loss([train[i] for i in at]), evaluate, config, seed, checkpoints, unique, progress)
    facts = {"accuracy": fitted.score, "epoch": fitted.epoch, "texts": len(texts), "characters": sum(lengths)}
    return Base(network.trunk, vocabulary, config, facts)
