"""What a model is given and what it answers, without torch; and seeds from what they are for.

`Example` and `JudgedReview` are training items; their texts are views (builder.reviews.text.view) and all spans are
offsets into them. `TripletModel` and `Judge` are what training returns. The configs hold every number that changes a
result.
"""

from __future__ import annotations

import hashlib
import random
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass, field, fields, replace
from typing import Protocol, TypeVar

from builder.core.limits import Limits, above_0, at_least, check_limits, from_0_to_1
from builder.core.records import POLARITIES, Polarity, Triplet, Verdict


def seed_of(*parts: object) -> int:
    """A 63-bit seed from anything with a stable repr."""
    return int.from_bytes(hashlib.sha256(repr(parts).encode()).digest()[:8]) >> 1


VALENCE: dict[Polarity, float] = {"POS": 8.0, "NEG": 2.5, "NEU": 5.0}
"""The valence of a predicted triplet: the model knows the polarity only. What people label has `records.VALENCES`;
releases and caches hold both, so a NEG differs by half a point.
"""


@dataclass(frozen=True, slots=True)
class Example:
    """A review's view and its triplets. To a tagger one without triplets is a text with nothing to find."""

    id: str
    text: str
    triplets: tuple[Triplet, ...]


@dataclass(frozen=True, slots=True)
class JudgedReview:
    """A review's view and judged triplets: what the discriminator learns from."""

    id: str
    text: str
    verdicts: tuple[tuple[Triplet, Verdict], ...]


class Progress(Protocol):
    """Called after every batch with how far the work is, in characters; `note` names the work and the last score."""

    def __call__(self, done: int, total: int, note: str) -> None: ...


class TripletModel(Protocol):
    """Finds triplets. Spans point into the text given; `confidence` orders the triplets."""

    @property
    def digest(self) -> str: ...

    def predict(self, texts: Sequence[str], progress: Progress | None = None) -> list[tuple[Triplet, ...]]: ...


class Judge(Protocol):
    """Labels each triplet of each item, None where it abstains, with the probability that the label is YY."""

    @property
    def digest(self) -> str: ...

    def classify(
        self, items: Sequence[Example], progress: Progress | None = None
    ) -> list[tuple[tuple[Verdict | None, float], ...]]: ...


@dataclass(frozen=True, slots=True)
class NetworkConfig:
    """The trunk and its training. Two configs that differ in any number train different models.

    `batch_chars` is the size of a batch in characters, padding included; `rate` the highest learning rate, reached
    after the share `warmup` of the steps; `min_count` how often a character occurs in the training texts to get a
    vector of its own.
    """

    width: int = 192
    layers: int = 6
    char_size: int = 128
    bigram_size: int = 48
    bigram_buckets: int = 8192
    pair_size: int = 128
    dropout: float = 0.15
    min_count: int = 2
    epochs: int = 5
    batch_chars: int = 1024
    rate: float = 2e-3
    warmup: float = 0.1
    weight_decay: float = 0.01
    clip: float = 1.0
    threads: int = 2

    def __post_init__(self) -> None:
        check_limits(self, lambda key: "model config")

    @property
    def step_items(self) -> int:
        """Texts of an optimiser step; 0: as many as `batch_chars` holds."""
        return 0

    @property
    def l2(self) -> float:
        """The L2 penalty of Adam; 0: AdamW with `weight_decay`."""
        return 0.0

    def limits(self) -> Limits:
        counts = [field.name for field in fields(self) if field.type == "int"]
        return {
            **{name: at_least(1, getattr(self, name)) for name in counts},
            "dropout": (0 <= self.dropout < 1, "a share from 0 to below 1"),
            "warmup": from_0_to_1(self.warmup),
            "rate": above_0(self.rate),
            "clip": above_0(self.clip),
        }


@dataclass(frozen=True, slots=True)
class TaggerConfig(NetworkConfig):
    """A tagger reads a text in windows of at most `window` characters, finds spans of at most `max_span`, and pairs
    those with at most `max_gap` characters between them (of 10 gaps 9 are below 20). The pair scorer tells up to
    `max_clauses` clauses between the two apart. On a pretrained encoder markers may look at pairs again, through
    `marker_layers` layers beside its upper ones (builder.models.markers).
    """

    window: int = 256
    max_span: int = 20
    max_gap: int = 96
    max_clauses: int = 4
    marker_layers: int = field(default=0, repr=False)  # fingerprints of trainings without it stay

    @property
    def kept(self) -> dict[str, object]:
        """What files and digests hold of it: as before there were markers where it has none."""
        return {name: value for name, value in asdict(self).items() if value or name != "marker_layers"}

    def limits(self) -> Limits:
        return {**NetworkConfig.limits(self), "marker_layers": at_least(0, self.marker_layers)}


@dataclass(frozen=True, slots=True)
class DiscriminatorConfig(NetworkConfig):
    """A discriminator reads a whole review at once and scores the triplets it is given."""

    epochs: int = 4


@dataclass(frozen=True, slots=True)
class EncoderTuning:
    """How a pretrained encoder is fine-tuned: `rate` is that of its top layer, each one below takes `layer_decay` of
    the one above; `precision` is auto, bf16 or fp32. `gradient_checkpointing` is ignored; digests
    of models hold it.
    """

    rate: float = 3e-5
    layer_decay: float = 0.9
    precision: str = "auto"
    gradient_checkpointing: bool = False


Config = TypeVar("Config", bound=NetworkConfig)


def sized(config: Config, chars: int, least: int = 150_000) -> Config:
    """`config` for `chars` characters of training text: where they are few, smaller batches and more passes.

    There are about 100 steps a pass (batches of 384 characters at least) and passes over `least` characters in all
    (16 at most).
    """
    batch = min(config.batch_chars, max(384, chars // 100))
    passes = max(config.epochs, min(16, -(-least // max(1, chars))))
    return replace(config, batch_chars=batch, epochs=passes)


def discriminator_data(example: Example, seed: int) -> JudgedReview:
    """Training data of the discriminator (section 3.3.2): every rule triplet as YY, each once more with a random wrong
    polarity as YN, and unpaired aspects and opinions as NX.

    NX: all pairs of a distinct aspect and a distinct opinion (by spans) of the review, less the YY pairs whatever
    their polarity; of these twice as many as there are YY triplets, or all where there are fewer, each with a random
    polarity. NX triplets follow the order of the review's aspects, then opinions.
    """
    item = f"{seed}\0{example.id}".encode("utf-8", "surrogatepass")  # of this item alone: order changes nothing
    draw = random.Random(int.from_bytes(hashlib.sha256(item).digest()))
    wrong = [_recast(t, draw.choice([p for p in POLARITIES if p != t.polarity])) for t in example.triplets]
    pairs = {(t.aspect.spans, t.opinion.spans) for t in example.triplets}
    aspects = {t.aspect.spans: t for t in reversed(example.triplets)}
    opinions = {t.opinion.spans: t for t in reversed(example.triplets)}
    unpaired = [(a, o) for a in sorted(aspects) for o in sorted(opinions) if (a, o) not in pairs]
    most = min(2 * len(example.triplets), len(unpaired))
    chosen = sorted(draw.sample(range(len(unpaired)), most))
    crossed = [_cross(aspects[a], opinions[o], draw) for a, o in (unpaired[i] for i in chosen)]
    groups: tuple[tuple[Verdict, Iterable[Triplet]], ...] = (("YY", example.triplets), ("YN", wrong), ("NX", crossed))
    return JudgedReview(example.id, example.text, tuple((t, verdict) for verdict, group in groups for t in group))


def _recast(triplet: Triplet, polarity: Polarity) -> Triplet:
    made = {"source": "negative", "rules": (), "reasons": None, "confidence": None}
    return replace(triplet, polarity=polarity, valence=VALENCE[polarity], **made)  # type: ignore[arg-type]


def _cross(aspect: Triplet, opinion: Triplet, draw: random.Random) -> Triplet:
    """The aspect of one triplet with the opinion of another, in a random polarity."""
    pair = replace(aspect, opinion=opinion.opinion, opinion_full=opinion.opinion_full)
    return _recast(pair, draw.choice(POLARITIES))
