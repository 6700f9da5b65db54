"""The models that a stage can choose instead of the embedded ones, by `profile`, from a literal table. No torch on
import.

A `Kind` trains the two models of the pipeline, writes them to a folder, and reads them back; what it returns meets
the Protocols of builder.learning.task. The profiles `embedded` and `encoder` are not in the table: their training is
the stages' own, and they differ in what `load_foundation` gives.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from importlib.util import find_spec
from itertools import tee
from pathlib import Path
from typing import TYPE_CHECKING, Protocol, TypeVar, runtime_checkable

from builder.core.errors import ModelError, install_command
from builder.core.records import Triplet
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
    from builder.models.paper.seq2seq_settings import Asking, Seq2SeqConfig

Settings = TypeVar("Settings", bound=NetworkConfig)
TrainExtractor = Callable[[Config, Sequence[Example], Sequence[Example], Path, Path, Progress | None], TripletModel]
TrainJudge = Callable[[Config, Sequence[JudgedReview], Sequence[JudgedReview], Path, Path, Progress | None], Judge]


@runtime_checkable
class Informed(Protocol):
    """An extractor that can be told what is known about a text."""

    def predict_examples(
        self, examples: Sequence[Example], progress: Progress | None = None
    ) -> list[tuple[Triplet, ...]]: ...


@runtime_checkable
class Asked(Protocol):
    """An extractor whose question may name the aspects of a text."""

    @property
    def names_aspects(self) -> bool: ...

    def predict_named(
        self, texts: Sequence[str], aspects: Sequence[Sequence[str]], progress: Progress | None = None
    ) -> list[tuple[Triplet, ...]]: ...


@dataclass(frozen=True, slots=True)
class Kind:
    """`train_*`(config, train, valid, folder, checkpoints, progress) leave the trained model in `folder`; `unit` is
    what progress counts.
    """

    about: str
    unit: str
    train_extractor: TrainExtractor
    train_judge: TrainJudge


def _paper_extractor(
    config: Config,
    train: Sequence[Example],
    valid: Sequence[Example],
    folder: Path,
    checkpoints: Path,
    progress: Progress | None,
) -> TripletModel:
    from builder.models.paper.fine_tuning import save, settle, train_writer

    numbers = seq2seq(config, config.paper.epochs, config.paper.max_output)
    made = save(
        train_writer(train, valid, config.paper.base, asking(config), numbers, config.seed, checkpoints, progress),
        folder,
    )
    settle(checkpoints, folder, made.digest)
    return _extractor(made, folder)


def _paper_judge(
    config: Config,
    train: Sequence[JudgedReview],
    valid: Sequence[JudgedReview],
    folder: Path,
    checkpoints: Path,
    progress: Progress | None,
) -> Judge:
    from builder.models.paper.fine_tuning import save, settle, train_referee

    paper = config.paper
    numbers = seq2seq(config, paper.judge_epochs, paper.max_verdict)
    made = train_referee(train, valid, paper.base, paper.constrained, numbers, config.seed, checkpoints, progress)
    save(made, folder)
    settle(checkpoints, folder, made.digest)
    return made


KINDS: dict[str, Kind] = {
    "paper": Kind(
        "a sequence-to-sequence model such as mT5, as in the paper", " tokens", _paper_extractor, _paper_judge
    )
}


_EXTRA = {"encoder": ("transformers",), "paper": ("transformers", "accelerate")}


def base_of(config: Config) -> str:
    """The pretrained model of the config's profile, a hub name or a folder; empty where there is none."""
    return {"encoder": config.encoder.base, "paper": config.paper.base}.get(config.profile, "")


def check(config: Config) -> None:
    """What would fail hours later fails now: an extra that is not installed, a base that is not there or of another
    class, a device that this machine lacks. No torch where no base and no GPU is named. Raises ModelError.
    """
    for name in _EXTRA.get(config.profile, ()):
        if find_spec(name) is None:
            raise ModelError(f"the profile {config.profile} needs {name}", fix=install_command("paper"))
    if config.device not in ("auto", "cpu"):
        from builder.learning.devices import choose

        choose(config.device)
    if source := base_of(config):
        from builder.models.serving import require_class

        require_class(source, config.profile, f"{config.profile}.base")


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
    return replace(foundation, vocabulary=vocabulary, processes=config.encoder.processes)


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
    return KINDS[config.profile].unit if config.profile in KINDS else " chars"


def seq2seq(config: Config, epochs: int, longest: int) -> Seq2SeqConfig:
    """The numbers of one fine-tuning of the profile `paper`, from the settings `[paper]` (appendix 11.1).

    Args:
        epochs: passes at most; the best one by validation counts.
        longest: tokens of the longest answer.
    """
    from builder.models.paper.seq2seq_settings import Seq2SeqConfig

    paper = config.paper
    return Seq2SeqConfig(
        epochs=epochs,
        max_input=paper.max_input,
        max_output=longest,
        batch_tokens=paper.batch_tokens,
        generate_tokens=paper.generate_tokens,
        batch=paper.batch,
        rate=paper.rate,
        warmup=paper.warmup,
        weight_decay=paper.weight_decay,
        precision=paper.precision,
        processes=paper.processes,
        threads=config.threads,
        device=config.device,
    )


def asking(config: Config) -> Asking:
    """How the profile `paper` asks its model."""
    from builder.models.paper.seq2seq_settings import Asking

    return Asking(config.paper.template, config.paper.given_aspects, config.paper.constrained)


def predict(
    model: TripletModel, examples: Sequence[Example], progress: Progress | None = None
) -> list[tuple[Triplet, ...]]:
    """The triplets of each example's text. Its own triplets give the aspects that are known, to a model that is asked
    about them.
    """
    if isinstance(model, Informed):
        return model.predict_examples(examples, progress)
    return model.predict([example.text for example in examples], progress)


def written_by(model: TripletModel, elsewhere: Callable[[list[Example]], Iterator[tuple[str, float]]]) -> TripletModel:
    """A model of the profile `paper` for which `elsewhere` writes: (answer, confidence) for each example."""
    from builder.models.paper.models import Writer

    assert isinstance(model, Writer), type(model)
    return replace(model, elsewhere=elsewhere)


def write_answers(model: TripletModel, examples: Sequence[Example]) -> list[tuple[str, float]]:
    """What a model of the profile `paper` writes about each example, and how sure it is."""
    from builder.models.paper.models import Writer

    assert isinstance(model, Writer), type(model)
    return [(answer.text, answer.confidence) for answer in model.answers(examples)]


def problems(config: Config, folder: Path) -> dict[str, int]:
    """What a model that writes its answers wrote that is no triplet, by reason; empty for models that do not write."""
    if config.profile not in KINDS:
        return {}
    from builder.models.paper.models import problem_counts

    return problem_counts(folder)


def load_extractor(folder: Path, device: str = "auto", keep: bool = True) -> TripletModel:
    """The extractor in a folder, of whatever kind it is; all but the embedded ones run on `device`. Raises ModelError.

    `keep`: a model that writes its answers keeps them in the folder, as it does in a working directory.
    """
    if _is_paper(folder):
        from builder.models.paper.fine_tuning import load

        writer = _extractor(load(folder), folder)
        config = replace(writer.config, device=device)
        return replace(writer, config=config, folder=writer.folder if keep else None)
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

        model = load(folder)
        if isinstance(model, Referee):
            return replace(model, config=replace(model.config, device=device))
    else:
        from builder.models.discriminator import Discriminator
        from builder.models.saved import load as load_embedded

        embedded = load_embedded(folder, device)
        if isinstance(embedded, Discriminator):
            return embedded
    raise ModelError("this is no discriminator", where=str(folder), fix="`builder run discriminate --force`")


def _is_paper(folder: Path) -> bool:
    return (folder / "paper.json").is_file()


def _extractor(model: object, folder: Path) -> Writer:
    from builder.models.paper.models import Writer

    if not isinstance(model, Writer):
        raise ModelError("this model finds no triplets", where=str(folder), fix="`builder run self_train --force`")
    return model
