"""The methods by name: a line about each, and where its loader stands. Loaded when asked for, so that the list costs nothing.

To add one: a file with `load(settings: Settings) -> Method`, and a line here. A loader trains or reads its model, and its method's
`signature` covers it; a method may also have `model_digest`, which the manifest then names.
"""

from __future__ import annotations

import importlib
from typing import cast

from builder.augment.records import Method
from builder.augment.settings import Settings
from builder.errors import ConfigError

METHODS: dict[str, tuple[str, str]] = {
    "synonym": ("words replaced by words that mean the same: lexicons/ and a thesaurus (Chinese), WordNet (English)", "builder.augment.synonym:load"),
}  # fmt: skip


def check(name: str) -> None:
    """ConfigError, with the known names, for one that is not known."""
    if name not in METHODS:
        raise ConfigError(f"unknown augmentation method {name!r}", fix=f"known: {', '.join(METHODS)}")


def load(name: str, settings: Settings) -> Method:
    """The method `name`, ready to propose; ConfigError or ModelError where it is not known or its model cannot be had."""
    check(name)
    module, _, function = METHODS[name][1].partition(":")
    return cast(Method, getattr(importlib.import_module(module), function)(settings))
