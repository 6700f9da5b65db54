"""What the papers' classifiers and aspect taggers read, answer and are called, without torch.

Sentence classification (`tc`): a text to a label. Aspect polarity (`absc`): a text and one aspect span to a label.
Aspect term extraction (`ate`): a text to spans. `MODELS` is the table of all of them; `chosen` turns what a user
writes ("lstm", "bert=PATH") into one.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from statistics import fmean
from typing import Literal

from builder.core.config import filled, toml_value
from builder.core.errors import ConfigError, ModelError
from builder.core.limits import Limits, at_least
from builder.core.records import Span
from builder.core.wording import counted
from builder.learning.task import NetworkConfig

Task = Literal["tc", "absc", "ate"]
Reads = Literal["words", "vectors", "pieces"]
ATE_CLASSES = ("O", "B", "I")
_SETTING = re.compile(r"[a-z0-9_]+=[^=]*")
_WORD = re.compile(r"[A-Za-z]+(?:['’][A-Za-z]+)*|[0-9]+(?:[.,][0-9]+)*|\S")


@dataclass(frozen=True, slots=True)
class ClassifierItem:
    """A text with its words, and what is to be said of it: `label` (tc, absc; of an `aspect`), or `spans` (ate)."""

    text: str
    words: tuple[Span, ...]
    label: str = ""
    aspect: Span | None = None
    spans: tuple[Span, ...] = ()


@dataclass(frozen=True, slots=True)
class ClassifierConfig(NetworkConfig):
    """A classifier and its training; lengths and batches count words, of an encoder pieces.

    `longest` words are read; `unknown` is the share that training hides, `srd` the reach of local context focus.
    `batch` above 0: so many texts a step. `l2` above 0: Adam with this penalty in place of AdamW. `filters`: sizes of
    `cnn`. `language` above 0: the weight of the loss of a base's masked language model.
    """

    width: int = 128
    vector_size: int = 100
    heads: int = 4
    dropout: float = 0.3
    epochs: int = 12
    batch_chars: int = 512
    rate: float = 2e-3
    longest: int = 128
    unknown: float = 0.05
    srd: int = 3
    freeze: bool = False
    min_count: int = 1
    threads: int = 1
    batch: int = 0
    l2: float = 0.0
    filters: str = "3+4+5"
    language: float = 0.0

    @property
    def sizes(self) -> tuple[int, ...]:
        return tuple(map(int, self.filters.split("+")))

    @property
    def step_items(self) -> int:
        return self.batch

    def limits(self) -> Limits:
        fitting = all(size.isdecimal() and int(size) for size in self.filters.split("+"))
        return NetworkConfig.limits(self) | {
            "batch": at_least(0, self.batch),
            "l2": at_least(0, self.l2),
            "language": at_least(0, self.language),
            "filters": (fitting, "sizes joined by +, as in 3+4+5"),
        }


@dataclass(frozen=True, slots=True)
class Means:
    """What a model starts from: an encoder, vectors in GloVe's format, texts of the domain, questions as in SQuAD."""

    base: str = ""
    vectors: Path | None = None
    domain_vectors: Path | None = None
    domain: tuple[str, ...] = ()
    comprehension: Path | None = None
    device: str = field(default="auto", repr=False)


@dataclass(frozen=True, slots=True)
class ClassifierKind:
    """A row of the table: `network` is a class of `builder.augment.bench`, `bases` are its encoders by language."""

    tasks: tuple[Task, ...]
    reads: Reads
    network: str
    config: ClassifierConfig = ClassifierConfig()
    bases: tuple[tuple[str, str], ...] = ()


_BERT = (("en", "google-bert/bert-base-uncased"), ("zh", "google-bert/bert-base-chinese"))
_DEBERTA = (("en", "microsoft/deberta-base"),)
_DE_CNN = ClassifierConfig(dropout=0.5, rate=1e-3, freeze=True, epochs=20)
FINE_TUNING = {"epochs": 4, "rate": 2e-5, "dropout": 0.1, "batch_chars": 1024}
"""What replaces a kind's settings where the encoder is pretrained (Devlin et al. 2019, appendix A.3)."""

_TEXTS: tuple[Task, ...] = ("tc", "absc")
MODELS: dict[str, ClassifierKind] = {
    "lstm": ClassifierKind(_TEXTS, "words", "taggers:Lstm"),  # Yang and Li 2022, section 3.2
    "cnn": ClassifierKind(_TEXTS, "words", "taggers:Cnn"),  # Kim 2014, as in Wu et al. 2019, section 4.2
    "rnn": ClassifierKind(_TEXTS, "words", "taggers:Rnn"),  # Wu et al. 2019, section 4.2
    "bert": ClassifierKind(_TEXTS, "pieces", "encoders:Pooled", bases=_BERT),  # Devlin et al. 2019
    "deberta": ClassifierKind(_TEXTS, "pieces", "encoders:Pooled", bases=_DEBERTA),  # He et al. 2021
    "fastlcf": ClassifierKind(("absc",), "pieces", "encoders:FastLcf", bases=_BERT),  # Zeng et al. 2019
    "bilstm-crf": ClassifierKind(("ate",), "vectors", "taggers:BiLstmCrf"),  # Li et al. 2020, section 4.2.2
    "seq2seq": ClassifierKind(("ate",), "vectors", "taggers:Seq2SeqTagger"),  # Ma et al. 2019
    "bert-ftc": ClassifierKind(("ate",), "pieces", "encoders:Tags", bases=_BERT),  # Devlin et al. 2019, section 5.3
    "de-cnn": ClassifierKind(("ate",), "vectors", "taggers:DeCnn", _DE_CNN),  # Xu et al. 2018
    "bert-pt": ClassifierKind(("ate",), "pieces", "encoders:Tags", bases=_BERT),  # Xu et al. 2019
}


@dataclass(frozen=True, slots=True)
class Choice:
    """A model as the user chose it: what was written, its encoder (`base`), and settings of its training."""

    shown: str
    name: str
    kind: ClassifierKind
    base: str = ""
    changes: tuple[tuple[str, object], ...] = ()

    @property
    def config(self) -> ClassifierConfig:
        own = replace(self.kind.config, **FINE_TUNING) if self.base else self.kind.config  # type: ignore[arg-type]
        return replace(own, **dict(self.changes)) if self.changes else own  # type: ignore[arg-type]


def chosen(written: str, task: Task, language: str) -> Choice:
    """`NAME` or `NAME=BASE`, settings behind: `NAME:rate=1e-4:epochs=5`. ConfigError lists what is known."""
    model, *settings = written.split(":")
    while not all(map(_SETTING.fullmatch, settings)):  # a base may hold a colon
        model, settings = f"{model}:{settings[0]}", settings[1:]
    name, _, base = model.partition("=")
    changes = _changes(settings, name)
    fitting = [key for key, kind in MODELS.items() if task in kind.tasks]
    if name not in MODELS:
        raise ConfigError(f"no model {name!r}", where="--models", fix=f"for {task} there are: {', '.join(fitting)}")
    kind = MODELS[name]
    if task not in kind.tasks:
        raise ConfigError(
            f"{name} is no model of the task {task}",
            where="--models",
            fix=f"for {task} there are: {', '.join(fitting)}",
        )
    if base and kind.reads != "pieces":
        raise ConfigError(f"{name} has no encoder to load {base!r} into", where="--models", fix=f"write {name} alone")
    if kind.bases and not base:
        base = dict(kind.bases).get(language, "")
        if not base:
            raise ConfigError(
                f"{name} has no known base for {language!r}",
                where="--models",
                fix=f"write {name}=HUB-NAME or {name}=FOLDER",
            )
    return Choice(written, name, kind, base, changes)


def _changes(settings: Sequence[str], name: str) -> tuple[tuple[str, object], ...]:
    """Some `key=value` as settings of a training; ConfigError for an unknown key or a value out of place."""
    pairs = dict(setting.split("=", 1) for setting in settings)
    values = {key: toml_value(value) for key, value in pairs.items()}
    made = filled(ClassifierConfig, values, f"--models {name}")
    return tuple((key, getattr(made, key)) for key in values)


def words_of(text: str) -> tuple[Span, ...]:
    """Latin words and numbers whole, every other character (Han, marks) alone: the words all models here read."""
    return tuple(match.span() for match in _WORD.finditer(text))


def check(task: Task, train: Sequence[ClassifierItem], where: str = "classifier") -> None:
    """Whether a model can be fitted to these items at all."""
    if not train:
        raise ModelError("no training item", where=where, fix="name a file with rows of this task")
    if task == "ate":
        if not any(item.spans for item in train):
            raise ModelError(
                f"no aspect in {counted(len(train), 'sentence')}", where=where, fix="train on sentences with aspects"
            )
        return
    labels = sorted({item.label for item in train})
    if len(labels) < 2:
        raise ModelError(
            f"one class is left, {labels[0]!r}",
            where=where,
            fix="take a larger share, or data with two classes at least",
        )
    if task == "absc" and any(item.aspect is None for item in train):
        raise ModelError("an item without aspect", where=where)


# ---- Scores in percent


def classes(gold: Sequence[str], predicted: Sequence[str]) -> dict[str, float]:
    """Accuracy, and F1 averaged over all labels that are gold or told (scikit-learn's macro F1)."""
    each = []
    for label in sorted({*gold, *predicted}):
        right = sum(a == b == label for a, b in zip(gold, predicted, strict=True))
        each.append(2 * right / (gold.count(label) + predicted.count(label)))
    right = sum(a == b for a, b in zip(gold, predicted, strict=True))
    return {"accuracy": 100 * right / len(gold), "macro_f1": 100 * fmean(each)}


def spans(gold: Sequence[Sequence[Span]], predicted: Sequence[Sequence[Span]]) -> dict[str, float]:
    """Micro precision, recall and F1 of exact spans."""
    right = sum(len(set(a) & set(b)) for a, b in zip(gold, predicted, strict=True))
    due, given = sum(len(set(own)) for own in gold), sum(len(set(own)) for own in predicted)
    f1 = 200 * right / (due + given) if due + given else 100.0
    return {"precision": 100 * right / given if given else 0.0, "recall": 100 * right / due if due else 0.0, "f1": f1}
