"""The numbers of the paper profile (Lu et al. 2024, appendix 11.1), without torch."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field, fields

from builder.core.limits import Limits, above_0, at_least, check_limits, from_0_to_1
from builder.models.paper.templates import Template


@dataclass(frozen=True, slots=True)
class Seq2SeqConfig:
    """How a sequence-to-sequence model is fine-tuned and how it writes. Two configs that differ in any number train
    different models, but for `processes`, which changes the order of sums only, and `device`.

    `max_input` and `max_output` are tokens. `batch_tokens` is the size of an optimiser step: rows times the longest
    input and output together, over all processes; where the device cannot hold it, a step is taken in parts.
    `batch` above 0: the examples of a step instead; `batch_tokens` is then what the device takes at once.
    `generate_tokens` the same for writing. `patience`: epochs without a better score after which training ends (0:
    never, as in the paper). `save_steps`: optimiser steps between checkpoints inside an epoch. `processes` 0: one for
    each GPU, one without a GPU. `rate` is the highest learning rate, behind a linear warm-up over the share `warmup`
    of the steps and before a linear way down; the paper names neither.
    """

    epochs: int = 5
    max_input: int = 1024
    max_output: int = 512
    batch_tokens: int = 8192
    generate_tokens: int = 32768
    rate: float = 3e-4
    warmup: float = 0.05
    weight_decay: float = 0.01
    clip: float = 1.0
    patience: int = 0
    save_steps: int = 2000
    precision: str = "auto"
    processes: int = 0
    threads: int = 2
    batch: int = 0
    device: str = field(default="auto", repr=False)

    @property
    def numbers(self) -> dict[str, object]:
        """What a model depends on: all but the device, and the numbers of before there was `batch` where it is 0."""
        free = {"device"} | ({"batch"} if not self.batch else set())
        return {key: value for key, value in asdict(self).items() if key not in free}

    def __post_init__(self) -> None:
        check_limits(self, lambda key: "model config")

    def limits(self) -> Limits:
        counts = [field_.name for field_ in fields(self) if field_.type == "int"]
        return {
            **{
                name: at_least(0 if name in ("patience", "processes", "batch") else 1, getattr(self, name))
                for name in counts
            },
            "warmup": from_0_to_1(self.warmup),
            "rate": above_0(self.rate),
            "clip": above_0(self.clip),
        }


@dataclass(frozen=True, slots=True)
class Asking:
    """How the ASTE model is asked. `given`: template 2 names the aspects that are known already, as the paper's
    released data does; else the review is all that it sees. `constrained`: decoding keeps to
    builder.models.paper.grammar.
    """

    template: Template = "2"
    given: bool = True
    constrained: bool = True
