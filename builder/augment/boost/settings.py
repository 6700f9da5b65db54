"""What can be set about the filter and its back ends: sections of builder.augment.settings.Settings."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal


@dataclass(frozen=True, slots=True)
class Eda:
    """Synonyms, insertions, swaps and deletions (Wei and Zou 2019)."""

    rate: float = 0.1
    """Share of the words that change."""
    operations: str = "synonym+insertion+swap+deletion"
    """Operations to use, joined by `+`."""
    natural: bool = True
    """In Chinese, write only what stands so in training texts."""


@dataclass(frozen=True, slots=True)
class Spelling:
    """Misspelt words (Coulombe 2018)."""

    rate: float = 0.1
    """Share of the words that are misspelt."""
    kinds: str = "sound+shape+rules+keyboard"
    """`sound` and `shape` for Chinese, `rules` and `keyboard` for English, joined by `+`."""


@dataclass(frozen=True, slots=True)
class Split:
    """Words split in two (Li et al. 2019)."""

    rate: float = 0.1
    """Share of the words that are split."""


@dataclass(frozen=True, slots=True)
class WordEmbs:
    """Words replaced by what a masked language model expects (Kumar et al. 2020)."""

    rate: float = 0.1
    """Share of the words that are replaced."""
    base: str = ""
    """Masked language model: a hub name or a folder; empty: an embedded one."""
    top: int = 20
    """A replacement is drawn from so many likeliest words."""
    epochs: int = 6
    """Passes over the training data of the embedded model."""


@dataclass(frozen=True, slots=True)
class Boost:
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
    scale: Literal["absolute", "source", "valid"] = "source"
    """What the thresholds are shares and multiples of: the source, the median of the validation fold, or 1 (the paper)."""
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

    def checked(self) -> dict[str, bool]:
        """Which values are in their range."""
        return {
            "confidence": 0 <= self.confidence <= 1,
            "perplexity": self.perplexity > 0,
            "oversample": self.oversample >= 1,
            "epochs": self.epochs >= 0,
        }
