"""The models of a build by its `profile`: what they need, how those of `paper` are trained, and how all are read back.
No torch on import.

What is trained meets the Protocols of builder.learning.task. The training of `embedded` and `encoder` is the stages'
own, and they differ in what `load_foundation` gives.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from importlib.util import find_spec
from itertools import tee
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar, cast

from builder.core.errors import ModelError, install_command
from builder.core.settings import Config
from builder.learning.task import (
    EncoderTuning,
    Example,
    Judge,
    JudgedReview,
    NetworkConfig,
    Progress,
    TaggerConfig,
    TripletModel,
    sized,
)

if TYPE_CHECKING:
    from builder.models.network import Foundation
    from builder.models.paper.models import Writer
    from builder.models.paper.seq2seq import Seq2SeqConfig
    from builder.models.paper.templates import Asking

Settings = TypeVar("Settings", bound=NetworkConfig)


def writes(config: Config) -> bool:
    """Whether the config's models write their answers: those of the profile `paper`, sequence-to-sequence models."""
    return config.profile == "paper"


def train_writer(
    config: Config,
    train: Sequence[Example],
    valid: Sequence[Example],
    folder: Path,
    checkpoints: Path,
    progress: Progress | None,
) -> TripletModel:
    """The extractor of the profile `paper`, trained and left in `folder`."""
    from builder.models.paper.fine_tuning import train_writer

    paper = config.paper
    asking, numbers = paper_asking(config), paper_numbers(config, paper.epochs, paper.max_output)
    return train_writer(train, valid, paper.base, asking, numbers, config.seed, checkpoints, progress, folder)


def train_referee(
    config: Config,
    train: Sequence[JudgedReview],
    valid: Sequence[JudgedReview],
    folder: Path,
    checkpoints: Path,
    progress: Progress | None,
) -> Judge:
    """The judge of the profile `paper`, trained and left in `folder`."""
    from builder.models.paper.fine_tuning import train_referee

    paper = config.paper
    numbers = paper_numbers(config, paper.judge_epochs, paper.max_verdict)
    return train_referee(train, valid, paper.base, numbers, config.seed, checkpoints, progress, folder)


def base_of(config: Config) -> str:
    """The pretrained model of the config's profile, a hub name or a folder; empty where there is none."""
    return {"encoder": config.encoder.base, "paper": config.paper.base}.get(config.profile, "")


def check(config: Config) -> None:
    """What would fail hours later fails now: an extra that is not installed, a base that is not there or of another
    class, a device that this machine lacks. No torch where no base and no GPU is named. Raises ModelError.
    """
    for name, purpose, extra in _needed_modules(config):
        if find_spec(name) is None:
            raise ModelError(f"{purpose} needs {name}", fix=install_command(extra))
    if config.device not in ("auto", "cpu"):
        from builder.learning.devices import choose

        choose(config.device)
    if source := base_of(config):
        from builder.learning.hub import ENCODER, SEQ2SEQ, require_kind

        require_kind(source, SEQ2SEQ if writes(config) else ENCODER, f"{config.profile}.base")


def _needed_modules(config: Config) -> Iterator[tuple[str, str, str]]:
    """What a config imports of optional libraries, what for, and the extra that brings it."""
    libraries = {"encoder": ("torch", "transformers"), "paper": ("torch", "transformers", "accelerate")}
    for name in libraries.get(config.profile, ()):
        yield name, f"the profile {config.profile}", "paper"
    if config.profile == "embedded" and config.device not in ("auto", "cpu"):
        for name in ("torch", "transformers"):
            yield name, f"device = {config.device!r}", "paper"
    if config.annotate.backend.startswith("ckip"):
        yield "ckip_transformers", f"the backend {config.annotate.backend}", "ckip"
    if config.profile == "embedded" and config.discriminate.mode == "paper":
        yield "torch", 'discriminate.mode = "paper"', "train"
    if trained := config.profile == "embedded" and sorted(set(config.self_train.variants) - {"E"}):
        yield "torch", f"variant {', '.join(trained)}", "train"


def load_foundation(config: Config, texts: Iterable[str]) -> Foundation | None:
    """The encoder that the models of the profile `encoder` stand on, beside the characters of `texts`, which it is
    checked to know; None for `embedded`, whose models stand on the characters of their training texts.
    """
    if config.profile != "encoder":
        return None
    from builder.learning.encode import Vocabulary
    from builder.models.encoder import check_characters, load_encoder

    foundation = load_encoder(config.encoder.base, tuning_of(config), config.device)
    texts, again = tee(texts)
    check_characters(foundation, texts, config.encoder.base)
    vocabulary = Vocabulary.of(again, TaggerConfig().min_count)
    return replace(foundation, vocabulary=vocabulary)


def tuning_of(config: Config) -> EncoderTuning:
    """How the profile `encoder` trains its encoder."""
    own = config.encoder
    return EncoderTuning(own.rate, precision=own.precision)


def training_settings(wanted: type[Settings], config: Config, epochs: int, chars: int) -> Settings:
    """The numbers of a tagger's or a discriminator's training on `chars` characters of text."""
    settings = wanted(epochs=epochs, threads=config.threads)
    if config.profile == "encoder":
        # what stands on the encoder starts from nothing, and learns faster
        settings = replace(settings, batch_chars=config.encoder.batch_chars, rate=1e-3, warmup=0.1)
    return sized(settings, chars)


def unit(config: Config) -> str:
    """What the progress of the config's models counts."""
    return " tokens" if writes(config) else " chars"


def paper_numbers(config: Config, epochs: int, longest: int) -> Seq2SeqConfig:
    """The numbers of one fine-tuning of the profile `paper`, from the settings `[paper]` (appendix 11.1): `epochs` at
    most, of which the best one by validation counts, and `longest` answers in tokens.
    """
    from builder.models.paper.seq2seq import Seq2SeqConfig

    own = {name: getattr(config.paper, name) for name in _NUMBERS}
    return Seq2SeqConfig(epochs=epochs, max_output=longest, threads=config.threads, device=config.device, **own)


_NUMBERS = (
    "max_input", "batch_tokens", "generate_tokens", "batch", "rate", "warmup", "weight_decay", "precision",
)  # fmt: skip


def paper_asking(config: Config) -> Asking:
    """How the profile `paper` asks its model."""
    from builder.models.paper.templates import Asking

    return Asking(config.paper.template, config.paper.given_aspects)


def find_asked(model: TripletModel) -> Writer | None:
    """A model whose question names aspects, as it did in training; None of another one."""
    return cast("Writer", model) if getattr(model, "names_aspects", False) else None


def problems(config: Config, folder: Path) -> dict[str, int]:
    """What a model that writes its answers wrote that is no triplet, by reason; empty for models that do not write."""
    if not writes(config):
        return {}
    from builder.models.paper.models import problem_counts

    return problem_counts(folder)


def load_extractor(folder: Path, device: str = "auto", keep: bool = True) -> TripletModel:
    """The extractor in a folder, of whatever kind it is; all but the embedded ones run on `device`. Raises ModelError.

    `keep`: a model that writes its answers keeps them in the folder, as it does in a working directory.
    """
    if _is_paper(folder):
        from builder.models.paper.fine_tuning import load

        writer = as_writer(load(folder, device), folder)
        return writer if keep else replace(writer, folder=None)
    from builder.models.saved import load as load_embedded
    from builder.models.tagger import Tagger

    model = load_embedded(folder, device)
    if not isinstance(model, Tagger):
        raise ModelError("this model finds no triplets", where=str(folder), fix="`builder run self_train --force`")
    return model


def load_judge(folder: Path, device: str = "auto") -> Judge:
    """The discriminator in a folder, of whatever kind; all but embedded ones run on `device`. Raises ModelError."""
    if _is_paper(folder):
        from builder.models.paper.fine_tuning import load
        from builder.models.paper.models import Referee

        model = load(folder, device)
        if isinstance(model, Referee):
            return model
    else:
        from builder.models.discriminator import Discriminator
        from builder.models.saved import load as load_embedded

        embedded = load_embedded(folder, device)
        if isinstance(embedded, Discriminator):
            return embedded
    raise ModelError("this is no discriminator", where=str(folder), fix="`builder run discriminate --force`")


def _is_paper(folder: Path) -> bool:
    return (folder / "paper.json").is_file()


def as_writer(model: object, folder: Path) -> Writer:
    """A model of the profile `paper` that finds triplets; ModelError for another one."""
    from builder.models.paper.models import Writer

    if not isinstance(model, Writer):
        raise ModelError("this model finds no triplets", where=str(folder), fix="`builder run self_train --force`")
    return model
