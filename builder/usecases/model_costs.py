"""Hours and memory of the model stages of the profiles `encoder` and `paper`, before anything is trained.

In: the settings of a build, how many tokens a review and its triplets have, and how fast the base is on the device
(builder.model.probing). Out: a row for each stage. Pure.
"""

from __future__ import annotations

from dataclasses import dataclass

from builder.model.probing import BaseSpeed
from builder.settings import Config

_QUESTION = 30
"""Tokens that a question has beside the review."""
_VERDICT = 20
"""Tokens of each of a judge's three answers."""


@dataclass(frozen=True, slots=True)
class ReviewSize:
    """Tokens of a review and of the answer that lists its triplets, and how many triplets it has: means."""

    tokens: float
    answer: float
    triplets: float


@dataclass(frozen=True, slots=True)
class StageTokens:
    """What the base does in a stage: tokens that it is trained on, reads and writes, padding left out."""

    stage: str
    trained: float
    read: float
    written: float

    def hours(self, speed: BaseSpeed) -> float:
        """Hours at a speed."""
        writing = self.written / speed.writing if self.written else 0.0
        return (self.trained / speed.training + self.read / speed.reading + writing) / 3600


def stage_tokens(config: Config, reviews: int, size: ReviewSize) -> tuple[StageTokens, ...]:
    """What a build of `reviews` reviews asks of the base, stage by stage."""
    shares = 1 - config.ingest.valid_share - config.ingest.test_share
    counts = [min(shares * reviews, most) for most in (config.discriminate.most, config.self_train.most)]
    if config.profile == "paper":
        return _paper(config, reviews, size, counts)
    folds, cross_fit = config.discriminate.folds, config.discriminate.mode == "cross-fit"
    members = folds - 1 if cross_fit else 1  # each of the folds trains on the others
    judged = counts[0] * members * config.discriminate.epochs * size.tokens
    rounds = _rounds(config)
    trained = rounds * counts[1] * config.self_train.epochs * size.tokens
    panel = reviews * size.tokens * (shares + (1 - shares) * (folds if cross_fit else 1))
    return (  # variant E takes what the panel proposed when it judged
        StageTokens("discriminate", judged, panel, 0.0),
        StageTokens("self_train", trained, rounds * reviews * size.tokens, 0.0),
    )


def _paper(config: Config, reviews: int, size: ReviewSize, counts: list[float]) -> tuple[StageTokens, ...]:
    question, rounds = size.tokens + _QUESTION, _rounds(config)
    asked = counts[0] * size.triplets * (question + _VERDICT)
    judging = reviews * size.triplets * (question + 3 * _VERDICT)
    learnt = rounds * counts[1] * (question + size.answer) * config.paper.epochs
    return (
        StageTokens("discriminate", asked * config.paper.judge_epochs, judging, 0.0),
        StageTokens("self_train", learnt, rounds * (reviews * question + judging), rounds * reviews * size.answer),
    )


def _rounds(config: Config) -> int:
    """Trainings of the variants A to D; a first round that two variants share is trained once."""
    chosen = set(config.self_train.variants) & set("ABCD")
    first = len({variant in "AC" for variant in chosen})
    return first + len(chosen) * config.self_train.iterations
