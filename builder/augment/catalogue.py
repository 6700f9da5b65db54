"""What can be set about augmentation, and the methods by name.

To add a method: a file with `load(settings) -> Method`, and a line in `METHODS`; it is imported when it is asked for. A
loader trains or reads its model, which the method's `signature` covers; `digest`, if it has one, stands in the
manifest. `Given` cannot be set: the frame hands it over.
"""

from __future__ import annotations

import importlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal, cast

from builder.augment.candidates import Method, Sentence
from builder.augment.method_settings import (
    BackTranslationSettings,
    BoostSettings,
    CBertSettings,
    ContextSettings,
    EdaSettings,
    Gpt2Settings,
    MaskedSeq2SeqSettings,
    SpellingSettings,
    SplitSettings,
    StyleTransferSettings,
    SynonymSettings,
)
from builder.core.config import filled, flat
from builder.core.errors import ConfigError, did_you_mean, printable
from builder.core.files import written_value
from builder.core.limits import Limits, at_least
from builder.core.settings import is_device
from builder.language.lexicon.folders import SHIPPED, Folders


@dataclass(frozen=True, slots=True)
class Given:
    """What the frame gives: where models are kept, what to learn from, and texts that no model may read (`held`)."""

    models: Path | None = None
    sentences: tuple[Sentence, ...] = ()
    texts: tuple[str, ...] = ()
    held: frozenset[str] = frozenset()
    language: Literal["zh", "en"] = "zh"
    folders: Folders = SHIPPED


@dataclass(frozen=True, slots=True)
class AugmentSettings:
    """All settings of augmentation; a method's section bears its name, with `_` for `-`."""

    seed: int = 13
    """Seed of training; a proposal has its own."""
    threads: int = 2
    """Threads of training and decoding."""
    device: str = "auto"
    """Where models run, those of `--judge` too: `auto` takes a GPU where there is one; or `cpu`, `cuda`, `cuda:1`,
    `mps`."""
    constraints: Literal["label-safe", "none"] = "label-safe"
    """`label-safe` rejects what may make a label untrue; `none`, as in the papers, only what cannot be labelled."""
    redraws: int = 0
    """How often more candidates are drawn for the sentences that keep fewer than `--copies`."""
    fluency: str = ""
    """Causal language model whose perplexity is measured too: a hub name or a folder."""
    synonym: SynonymSettings = field(default_factory=SynonymSettings)
    eda: EdaSettings = field(default_factory=EdaSettings)
    spelling: SpellingSettings = field(default_factory=SpellingSettings)
    split: SplitSettings = field(default_factory=SplitSettings)
    back_translation: BackTranslationSettings = field(default_factory=BackTranslationSettings)
    boostaug: BoostSettings = field(default_factory=BoostSettings)
    monoaug: BoostSettings = field(default_factory=BoostSettings)
    masked_seq2seq: MaskedSeq2SeqSettings = field(default_factory=MaskedSeq2SeqSettings)
    cbert: CBertSettings = field(default_factory=CBertSettings)
    bert: CBertSettings = field(default_factory=CBertSettings)
    context: ContextSettings = field(default_factory=ContextSettings)
    context_label: ContextSettings = field(default_factory=ContextSettings)
    gpt2: Gpt2Settings = field(default_factory=Gpt2Settings)
    style_transfer: StyleTransferSettings = field(default_factory=StyleTransferSettings)
    given: Given = field(default_factory=Given, repr=False)

    def limits(self) -> Limits:
        names = "`auto`, `cpu`, `cuda`, `cuda:` with a number, or `mps`"
        return {
            "threads": at_least(1, self.threads),
            "device": (is_device(self.device), names),
            "redraws": at_least(0, self.redraws),
        }

    @property
    def label_safe(self) -> bool:
        return self.constraints == "label-safe"


SHARED = frozenset({"seed", "threads", "device", "constraints", "redraws", "fluency"})
"""The settings that all methods share."""


_AS_BERT = "take `bert` with `bert.share=0.1`, which is nearest to it"
GONE = {
    "again": "a word always gives way to another one",
    **dict.fromkeys(("batch", "batch_tokens"), "batches are counted in tokens"),
    **dict.fromkeys(("decoder", "encoder"), "the embedded network has one layer on either side"),
    **dict.fromkeys(("each", "fitting", "least_fit", "most_surprise"), "the likeliest beams count"),
    "find": "attention finds the words that make a label",
    "keep": "what no method may touch is for `--keep` to say",
    "kinds": "a dictionary of misspellings is used alone",
    "labels": "a word is told the labels that the view has",
    "operations": "all four take turns",
    "opposite": "polarities turn round, and sorted labels from the end",
    "patience": "a training ends where its validation loss no longer falls",
    "replacement": "`temperature=0` takes the likeliest word",
    "rounds": "words are masked once a candidate",
    "threads": "`--set threads=4` is for all methods",
}
"""Settings that sections of earlier versions had, and what holds instead."""


def make_settings(options: Mapping[str, object]) -> AugmentSettings:
    """Settings from dotted keys; ConfigError for an unknown key, or a value that does not fit."""
    known = flat(AugmentSettings())
    for key in options:
        if key.startswith("given"):
            raise ConfigError(f"{key!r} cannot be set", where="--set")
        if key.startswith("word_embs."):
            raise ConfigError(f"unknown key {key!r}", where="--set", fix=_AS_BERT)
        if key not in known and (instead := GONE.get(key.rpartition(".")[2])):
            raise ConfigError(f"unknown key {key!r}", where="--set", fix=f"leave it out: {instead}")
    return filled(AugmentSettings, options, "--set")


def describe_origins(made: AugmentSettings, method: str, origins: Mapping[str, str]) -> Iterator[str]:
    """A TOML line, with its origin, for each setting that `method` depends on, and a filter's back end."""
    values = relevant_settings(made, method)
    if (backend := values.get(f"{section_of(method)}.backend")) is not None:
        values |= relevant_settings(made, str(backend))
    for key, value in values.items():
        yield f"{key} = {written_value(value)}  # {printable(origins.get(key, 'default'))}"


def section_of(method: str) -> str:
    """The section that holds the settings of a method."""
    return method.replace("-", "_").replace("+", "_")


def relevant_settings(made: AugmentSettings, method: str) -> dict[str, object]:
    """The settings that a run of `method` depends on, by dotted key, for manifests and signatures."""
    section = section_of(method)
    values = {key: value for key, value in flat(made).items() if not key.startswith("given.")}
    return {key: value for key, value in values.items() if key in SHARED or key.startswith(f"{section}.")}


# ---- Methods by name

METHODS: dict[str, tuple[str, str]] = {
    "synonym": (
        "words replaced by words that mean the same: lexicons/ and a thesaurus (Chinese), WordNet (English)",
        "builder.augment.methods.synonym:load",
    ),
    "masked-seq2seq": (
        "a fragment written anew around its labelled words by a sequence-to-sequence model (Li et al. 2020)",
        "builder.augment.methods.masked_seq2seq:make",
    ),
    "cbert": (
        "words replaced by a masked language model that knows the label (Wu et al. 2019)",
        "builder.augment.methods.replacing:make_cbert",
    ),
    "bert": ("the same without the label", "builder.augment.methods.replacing:make_bert"),
    "context+label": (
        "words replaced by a bidirectional LSTM language model that knows the label (Kobayashi 2018)",
        "builder.augment.methods.replacing:make_context_label",
    ),
    "context": ("the same without the label", "builder.augment.methods.replacing:make_context"),
    "gpt2": (
        "half of the sentence written anew by a causal language model, given its aspects first",
        "builder.augment.methods.gpt2:make",
    ),
    "style-transfer": (
        "the words that speak for a label replaced under the opposite one: counterfactual rows",
        "builder.augment.methods.style_transfer:make",
    ),
    "eda": ("synonyms, insertions, swaps and deletions of a tenth of the words", "builder.augment.methods.eda:load"),
    "spelling": (
        "misspelt words: same sound or shape (Chinese), rules and keyboard (English)",
        "builder.augment.methods.spelling:load",
    ),
    "split": ("words, or characters, split in two", "builder.augment.methods.spelling:load_split"),
    "back-translation": (
        "translated into another language and back by two models of yours (Sennrich et al. 2016)",
        "builder.augment.methods.back_translation:load",
    ),
    "boostaug": (
        "another method's candidates, filtered by a surrogate that was trained on other folds",
        "builder.augment.methods.boostaug:load",
    ),
    "monoaug": ("the same with one surrogate, trained on all", "builder.augment.methods.boostaug:load_mono"),
}


def check_method(name: str) -> None:
    """ConfigError, with the known names, for one that is not known."""
    if name not in METHODS:
        known = f"{did_you_mean(name, METHODS)}known: {', '.join(METHODS)}"
        raise ConfigError(f"unknown augmentation method {name!r}", fix=_AS_BERT if name == "word-embs" else known)


def make_method(name: str, settings: AugmentSettings) -> Method:
    """The method `name`, ready to propose. ConfigError for an unknown name, ModelError where its model is missing."""
    check_method(name)
    module, _, function = METHODS[name][1].partition(":")
    return cast(Method, getattr(importlib.import_module(module), function)(settings))
