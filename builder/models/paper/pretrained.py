"""Sequence-to-sequence models from a hub name or a folder: loading, and checking what the tokenizer knows.

In: `google/mt5-base`, or a folder with config.json, weights and tokenizer. Out: `Base`. What cannot serve is a
ModelError that says why: no model, another architecture, weights that are missing or cut short, a tokenizer without
the characters that answers are made of.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any

from builder.core.errors import ModelError
from builder.core.records import POLARITY_NAMES
from builder.learning import hub
from builder.models.paper.templates import ALL, WHAT, WHICH, judge_answers, judge_question
from builder.models.serving import find_unknown, require_known

_JOINED = ("Metaspace", "WordPiece")


@dataclass(frozen=True, slots=True, eq=False)
class Base:
    """A loaded model with its tokenizer; `decoder` says how tokens are joined, `special` ids write nothing."""

    network: Any
    tokenizer: Any
    source: str
    decoder: str
    special: frozenset[int]

    @classmethod
    def of(cls, network: Any, tokenizer: Any, source: str) -> Base:
        return cls(
            network,
            tokenizer,
            source,
            type(tokenizer.backend_tokenizer.decoder).__name__,
            frozenset(tokenizer.all_special_ids),
        )

    def without_network(self) -> Base:
        """For a score, which is given the network: it travels to other processes without hundreds of megabytes."""
        return replace(self, network=None)

    @property
    def pad(self) -> int:
        return int(self.tokenizer.pad_token_id)

    @property
    def eos(self) -> int:
        return int(self.tokenizer.eos_token_id)

    def tokens(self, text: str, most: int) -> tuple[int, ...]:
        """The ids of a text with the end mark, at most `most` of them."""
        ids = [int(i) for i in self.tokenizer(text, add_special_tokens=False).input_ids]
        return (*ids[: most - 1], self.eos)


def load_base(source: str) -> Base:
    """Model (float32) and tokenizer of a name or folder. Raises ModelError."""
    if not source:
        raise ModelError(
            "the paper profile has no base model",
            where="paper.base",
            fix='set paper.base = "google/mt5-base" or a folder',
        )
    return Base.of(*hub.load_model(source, hub.SEQ2SEQ), source)


def check_characters(base: Base, texts: Iterable[str]) -> float:
    """The share of unknown characters in `texts`; ModelError above MAX_UNKNOWN, or for one of the templates."""
    placeholder = ("", "", "POS")
    wording = (
        ALL,
        WHICH,
        WHAT.format(aspect=""),
        *POLARITY_NAMES.values(),
        judge_question("", ("", "", "POS")),
        *judge_answers(placeholder).values(),  # type: ignore[arg-type]
    )

    def is_unknown(char: str) -> bool:
        return base.tokenizer.unk_token_id in base.tokenizer(char, add_special_tokens=False).input_ids

    share, missing = find_unknown(is_unknown, (*wording, "、。：()"))
    if missing:
        raise ModelError(
            f"the tokenizer does not know {missing}, which questions and answers are written with ({100 * share:.0f}% "
            "of them)",
            where=base.source,
            fix="use a multilingual or Chinese model",
        )
    return require_known(is_unknown, texts, base.source)


def decode(base: Base, ids: Iterable[int]) -> str:
    """What tokens write, special ones left out. The library's own decoding may tidy spaces before marks away."""
    kept = [i for i in ids if i not in base.special]
    if base.decoder not in _JOINED:
        return str(base.tokenizer.decode(kept, skip_special_tokens=True, clean_up_tokenization_spaces=False)).strip()
    tokens = [token for token in base.tokenizer.convert_ids_to_tokens(kept) if token is not None]
    if base.decoder == "WordPiece":
        tokens = [token.removeprefix("##") for token in tokens]
    return "".join(tokens).replace("▁", " ").strip()
