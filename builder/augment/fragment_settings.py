"""What can be set about `masked-seq2seq`: its training, its search, and which beams count."""

from __future__ import annotations

from dataclasses import dataclass, field

from builder.augment.conditions import KINDS
from builder.augment.training import LATER, InDomain
from builder.core.limits import Limits, among, at_least

NAME = "masked-seq2seq"


@dataclass(frozen=True, slots=True)
class MaskedSeq2SeqSettings(InDomain):
    """A fragment of the sentence is masked and written anew around its labelled words (Li et al. 2020)."""

    r: float = 0.5
    """Share of the sentence that is masked; the paper tries 0.3 to 0.7."""
    keep: str = "aspect"
    """Labels that are forced: `aspect` or `aspect+opinion`."""
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
    """Fragments are whole words, punctuation stays, and nothing is written that a constraint would reject."""
    fitting: bool = field(default=True, metadata=LATER)
    """The beams that fit best count, within `least_fit` and `most_surprise`; else the likeliest."""
    each: int = field(default=2, metadata=LATER)
    """Beams of a fragment that count."""
    least_fit: float = field(default=-2.0, metadata=LATER)
    """Least log ratio of the context's likelihood beside the new and the old fragment."""
    most_surprise: float = field(default=8.0, metadata=LATER)
    """A fragment may be as unlikely as so many usual tokens."""
    pretrain_epochs: int = 4
    epochs: int = 8
    patience: int = 2
    encoder: int = 1
    """Encoder layers of the embedded model."""
    decoder: int = 1
    """Decoder layers of the embedded model."""

    def limits(self) -> Limits:
        return InDomain.limits(self) | {
            "r": (0 < self.r <= 1, "a share above 0 (the paper uses 0.3 to 0.7)"),
            "keep": among(tuple(KINDS), self.keep),
            "masking": among(("mask", "mass"), self.masking),
            **{name: at_least(1, getattr(self, name)) for name in ("beams", "each", "encoder", "decoder")},
            "most": at_least(0, self.most),
        }
