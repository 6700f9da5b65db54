"""Words, universal tags and dependency trees for views of texts, behind one Protocol.

In: a backend's name from `BACKENDS`, the user's words, optionally a folder of models. Out: a `Backend`. Its signature
names everything that changes its output.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Protocol

from builder.core.errors import ConfigError
from builder.core.records import Token

__all__ = ["BACKENDS", "Backend", "load"]


class Backend(Protocol):
    """What reads texts: words, universal tags and UD v1 trees."""

    @property
    def signature(self) -> str:
        """Name, digests of the model files and of the user's words."""

    def annotate(self, texts: Sequence[str]) -> list[tuple[Token, ...]]:
        """The tokens of each text; they tile it."""


def _embedded(words: Mapping[str, str], models: Path | None, device: str) -> Backend:
    from builder.language.nlp import embedded

    del device  # a GPU would take longer for networks as small as these
    return embedded.load(words, models)


def _ckip(words: Mapping[str, str], models: Path | None, device: str) -> Backend:
    from builder.language.nlp import ckip

    return ckip.load(words, models, device=device)


def _ckip_stanza(words: Mapping[str, str], models: Path | None, device: str) -> Backend:
    from builder.language.nlp import ckip

    return ckip.load(words, models, trees="stanza", device=device)


BACKENDS: dict[str, Callable[[Mapping[str, str], Path | None, str], Backend]] = {
    "embedded": _embedded,
    "ckip": _ckip,
    "ckip-stanza": _ckip_stanza,
}


def load(name: str, words: Mapping[str, str], models: Path | None = None, device: str = "auto") -> Backend:
    """The backend `name` with the user's words {word: UPOS or ""} and the models of a folder, or the shipped ones.
    `device` is where the networks of Transformers run; the embedded ones run on the CPU.
    """
    if name not in BACKENDS:
        raise ConfigError(
            f"unknown NLP backend {name!r}",
            fix=f"known: {', '.join(sorted(BACKENDS))}"
            + ("; models of your own: `builder model nlp train`" if name == "hub" else ""),
        )
    return BACKENDS[name](words, models, device)
