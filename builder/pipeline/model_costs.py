"""Hours and memory of the model stages of the profiles `encoder` and `paper`, before anything is trained.

In: the settings of a build, how many tokens a review and its triplets have, and how fast the base is. The speed is
measured (builder.models.probing) or from a data sheet (builder.models.gpu_speed). Out: a `ModelPlan`. Pure.

`measure_sample` says how long the shipped reviews are to a base's tokenizer, and how much the rules find in them. In: a
hub name or folder. Out: the `ReviewSize` that the costs are reckoned from.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass

from builder.core.settings import Config
from builder.engine.reader import Recipe, make_reader
from builder.language.lexicon.resources import sample_dir
from builder.models.probing import BaseSpeed
from builder.reviews import sources
from builder.reviews.sources.cells import RawReview

# ---- Costs of the model stages

_QUESTION = 30
"""Tokens that a question has beside the review."""
_CHECKPOINTS = 4
"""Checkpoints of a training, in models: the best weights so far, and the last ones with two numbers of AdamW each."""
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
    """What the base does in a stage: tokens that it is trained on, reads and writes, padding left out, and how many
    models the stage leaves on disk.
    """

    stage: str
    trained: float
    read: float
    written: float
    models: int = 0

    def hours(self, speed: BaseSpeed) -> float:
        """Hours at a speed."""
        writing = self.written / speed.writing if self.written else 0.0
        return (self.trained / speed.training + self.read / speed.reading + writing) / 3600


@dataclass(frozen=True, slots=True)
class StageCost:
    """Hours of a stage, bytes of the device's memory, and bytes on disk once it is done."""

    tokens: StageTokens
    hours: float
    memory: float
    disk: float


@dataclass(frozen=True, slots=True)
class ModelPlan:
    """The stages of a build in order, and what the numbers rest on. `scratch`: bytes on disk while a model is trained,
    its checkpoints.
    """

    reviews: int
    profile: str
    speed: BaseSpeed
    size: ReviewSize
    stages: tuple[StageCost, ...]
    scratch: float

    @property
    def hours(self) -> float:
        return sum(stage.hours for stage in self.stages)

    @property
    def memory(self) -> float:
        return max(stage.memory for stage in self.stages)

    @property
    def disk(self) -> float:
        return sum(stage.disk for stage in self.stages)

    def as_json(self) -> dict[str, object]:
        totals = {"hours": self.hours, "memory": self.memory, "disk": self.disk, "fits": self.speed.fits}
        return asdict(self) | totals


def plan_models(config: Config, reviews: int, size: ReviewSize, speed: BaseSpeed) -> ModelPlan:
    """What the stages with models take at a speed."""
    costs = tuple(
        StageCost(
            tokens,
            tokens.hours(speed),
            speed.training_memory if tokens.trained else speed.weights if tokens.read else 0.0,
            tokens.models * speed.weights,
        )
        for tokens in stage_tokens(config, reviews, size)
    )
    return ModelPlan(reviews, config.profile, speed, size, costs, _CHECKPOINTS * speed.weights)


def answer_share(size: ReviewSize) -> float:
    """The share of answers in the tokens that a tagger of the profile `paper` is trained on."""
    return size.answer / (size.tokens + _QUESTION + size.answer)


def rows_written(config: Config, size: ReviewSize) -> int:
    """Reviews that a tagger of the profile `paper` writes about at once."""
    return max(1, int(config.paper.generate_tokens / (size.tokens + _QUESTION + size.answer)))


def stage_tokens(config: Config, reviews: int, size: ReviewSize) -> tuple[StageTokens, ...]:
    """What a build of `reviews` reviews asks of the base, stage by stage."""
    shares = 1 - config.ingest.valid_share - config.ingest.test_share
    counts = [min(shares * reviews, most) for most in (config.discriminate.most, config.self_train.most)]
    if config.profile == "paper":
        return _paper(config, reviews, size, counts)
    own = config.discriminate.mode == "paper"  # the model that builder ships is trained already, and is no base
    judged = counts[0] * config.discriminate.epochs * size.tokens * own
    rounds = _rounds(config)
    trained = rounds * counts[1] * config.self_train.epochs * size.tokens
    return (
        StageTokens("discriminate", judged, reviews * size.tokens * own, 0.0, int(own)),
        StageTokens("self_train", trained, rounds * reviews * size.tokens, 0.0, rounds),
    )


def _paper(config: Config, reviews: int, size: ReviewSize, counts: list[float]) -> tuple[StageTokens, ...]:
    question, rounds = size.tokens + _QUESTION, _rounds(config)
    asked = counts[0] * size.triplets * (question + _VERDICT)
    judging = reviews * size.triplets * (question + 3 * _VERDICT)
    compared = int(config.paper.compare_templates)  # one template's model is M_0 of variants B and D
    learnt = (rounds + compared) * counts[1] * (question + size.answer) * config.paper.epochs
    return (
        StageTokens("discriminate", asked * config.paper.judge_epochs, judging, 0.0, 1),
        StageTokens(
            "self_train",
            learnt,
            rounds * (reviews * question + judging),
            rounds * reviews * size.answer,
            rounds + compared,
        ),
    )


def _rounds(config: Config) -> int:
    """Trainings of the variants A to D; a first round that two variants share is trained once."""
    chosen = set(config.self_train.variants) & set("ABCD")
    first = len({variant in "AC" for variant in chosen})
    return first + len(chosen) * config.self_train.iterations


# ---- Sizes of reviews

_READ = 200
"""Reviews that are looked at."""


def measure_sample(base: str) -> ReviewSize:
    """Means over the first reviews of the shipped sample. ModelError where the base has no tokenizer."""
    from builder.learning import hub
    from builder.models.paper.templates import answer, triple_of

    tokenizer = hub.load_tokenizer(base)
    rows = sources.read(sample_dir() / "reviews.csv", sources.Columns())
    texts = [row.text for row in rows if isinstance(row, RawReview)][:_READ]
    extracted = make_reader(Recipe()).extract(texts)
    answers = [answer([triple_of(triplet) for triplet in triplets], "2")[0] for triplets in extracted]

    def mean_tokens(written: list[str]) -> float:
        return sum(len(tokenizer(text).input_ids) for text in written) / len(written)

    return ReviewSize(mean_tokens(texts), mean_tokens(answers), sum(map(len, extracted)) / len(texts))
