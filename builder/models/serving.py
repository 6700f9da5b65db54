"""What a model is by its configuration alone: one that builder saved, or a plain BERT; and what a tokenizer knows.

In: a folder, a configuration, texts. Out: settings or tokenizer, or a ModelError that names what would do. No weights
are read.
"""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any

from builder.core.errors import ModelError
from builder.core.files import read_settings

MAX_UNKNOWN = 0.05
"""The highest share of the reviews' characters that a tokenizer may not know."""
FORMAT = 1
TOKENIZER = "tokenizer.json"
_ACTIVATION, _POSITIONS = "gelu", (None, "absolute")


def is_plain(config: Mapping[str, Any]) -> bool:
    """Whether a config is of the plain BERT (Devlin et al. 2019, section 3.1), which numpy reads, too."""
    width, heads = config.get("hidden_size"), config.get("num_attention_heads")
    return (
        config.get("model_type") == "bert"
        and isinstance(width, int)
        and isinstance(heads, int)
        and heads > 0
        and width % heads == 0
        and config.get("hidden_act") == _ACTIVATION
        and config.get("position_embedding_type") in _POSITIONS
        and not config.get("is_decoder")
        and not config.get("add_cross_attention")
    )


def find_unknown(is_unknown: Callable[[str], bool], texts: Iterable[str]) -> tuple[float, str]:
    """The share of the characters (spaces aside, each occurrence counted) that a tokenizer does not know, and the
    commonest of those.
    """
    seen = Counter(char for text in texts for char in text if not char.isspace())
    missing = {char: times for char, times in seen.items() if is_unknown(char)}
    worst = "".join(sorted(missing, key=lambda char: (-missing[char], char))[:10])
    return sum(missing.values()) / max(1, seen.total()), worst


def require_known(is_unknown: Callable[[str], bool], texts: Iterable[str], source: str) -> float:
    """The share of the characters of `texts` that a tokenizer does not know; ModelError above MAX_UNKNOWN."""
    share, missing = find_unknown(is_unknown, texts)
    if share > MAX_UNKNOWN:
        most = f"{100 * MAX_UNKNOWN:.0f}%"
        what = f"the tokenizer does not know {100 * share:.1f}% of the reviews' characters, {missing} for example"
        raise ModelError(f"{what} (at most {most})", where=source, fix="use a multilingual or Chinese model")
    return share


def read_model_settings(path: Path) -> dict[str, Any]:
    """The config.json of a model that builder saved; ModelError where it is none."""
    try:
        settings = json.loads(read_settings(path))
    except (OSError, ValueError, RecursionError) as error:
        raise ModelError(
            f"no readable model config: {error}", where=str(path), fix="name a folder that `save` wrote"
        ) from error
    if not isinstance(settings, dict) or settings.get("format") != FORMAT:
        raise ModelError(f"not a model config of format {FORMAT}", where=str(path), fix="train the model again")
    return settings


def read_tokenizer(folder: Path, digest: str) -> str:
    """The tokenizer of a saved model as JSON; ModelError where it is missing or another's."""
    path = folder / TOKENIZER
    try:
        tokenizer = path.read_text("utf-8")
    except (OSError, ValueError) as error:
        raise ModelError(f"no readable tokenizer: {error}", where=str(path), fix="train the model again") from error
    if hashlib.sha256(tokenizer.encode()).hexdigest() != digest:
        raise ModelError("the tokenizer is another model's", where=str(path), fix="train the model again")
    return tokenizer
