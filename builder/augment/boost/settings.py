"""What can be set about the filter and its back ends: sections of builder.augment.settings.Settings."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal


@dataclass(frozen=True, slots=True)
class Eda:
    """Wei and Zou 2019. `rate`: share of the words that change (alpha); `operations`: which of synonym, insertion, swap, deletion, joined by +;
    `natural`: in Chinese only what stands so in training texts comes and goes, and only listed words change places (builder.augment.natural)."""

    rate: float = 0.1
    operations: str = "synonym+insertion+swap+deletion"
    natural: bool = True


@dataclass(frozen=True, slots=True)
class Spelling:
    """Coulombe 2018. `rate`: share of the words that are misspelt; `kinds`: sound and shape (Chinese), rules and keyboard (English), by +."""

    rate: float = 0.1
    kinds: str = "sound+shape+rules+keyboard"


@dataclass(frozen=True, slots=True)
class Split:
    """Li et al. 2019. `rate`: share of the words that are split in two."""

    rate: float = 0.1


@dataclass(frozen=True, slots=True)
class WordEmbs:
    """Kumar et al. 2020. `base` empty: an embedded model over the words of the train texts; else a hub name or a folder of a masked language
    model. `top`: how many of its words a replacement is drawn from; `epochs` those of the embedded model."""

    rate: float = 0.1
    base: str = ""
    top: int = 20
    epochs: int = 6


@dataclass(frozen=True, slots=True)
class Boost:
    """Yang and Li 2022, sections `boostaug` and `monoaug`; see builder.augment.methods.boostaug for what the thresholds mean.

    `backend`: whose candidates are filtered. `oversample`: how many are made for each that may stay. `confidence`, `perplexity`: thresholds,
    `scale` what they are shares and multiples of (the paper's numbers: `absolute`, 0.99 and 5); `by_confidence`, `by_perplexity`, `by_label` switch
    the filters; `ranked`, as in the paper: of those that pass the surest (so the easiest) are kept, and not the first. `base`: as in `WordEmbs`,
    an encoder as surrogate; `epochs` 0: by the size of the folds.
    """

    backend: str = "eda"
    folds: int = 5
    oversample: int = 2
    confidence: float = 0.99
    perplexity: float = 1.5
    scale: Literal["absolute", "source", "valid"] = "source"
    by_confidence: bool = True
    by_perplexity: bool = True
    by_label: bool = True
    ranked: bool = False
    base: str = ""
    epochs: int = 0

    def checked(self) -> dict[str, bool]:
        """Which values are in their range."""
        return {
            "confidence": 0 <= self.confidence <= 1,
            "perplexity": self.perplexity > 0,
            "oversample": self.oversample >= 1,
            "epochs": self.epochs >= 0,
        }
