"""The settings as Markdown: dataclasses, their types and defaults, and the docstring under each field."""

from __future__ import annotations

import dataclasses
import inspect
import typing
from collections.abc import Iterator

from builder.augment.catalogue import AugmentSettings
from builder.core.files import written_value
from builder.core.settings import Config
from builder.pipeline.installation import SettingFacts, setting_facts


def describe_build_settings() -> str:
    """The sections of `settings.toml`."""
    return _describe(Config, "")


def describe_augmentation_settings() -> str:
    """What `builder augment --set` takes."""
    return _describe(AugmentSettings, "")


def walk_settings(cls: type) -> Iterator[tuple[str, str, SettingFacts, str]]:
    """Section, key, facts and sentence of every setting, those of sections last."""
    return ((fact.section, fact.name, fact, fact.sentence) for fact in setting_facts(cls))


def _describe(cls: type, prefix: str) -> str:
    hints = typing.get_type_hints(cls)
    lines = _table(cls)
    for field in dataclasses.fields(cls):
        hint = hints[field.name]
        if isinstance(hint, type) and dataclasses.is_dataclass(hint) and field.name != "given":
            lines += [
                f"### `[{prefix}{field.name}]`",
                "",
                " ".join((inspect.getdoc(hint) or "").split()),
                "",
                *_table(hint),
            ]
    return "\n".join(lines)


def _table(cls: type) -> list[str]:
    rows = [f"| `{fact.name}` | {_values(fact)} | {fact.sentence} |" for fact in setting_facts(cls) if not fact.section]
    return ["| key | default | meaning |", "|---|---|---|", *rows, ""]


def _values(fact: SettingFacts) -> str:
    """The default, and what else may be chosen."""
    shown = f"`{written_value(fact.default)}`"
    others = [f"`{written_value(choice)}`" for choice in fact.choices if choice != fact.default]
    return f"{shown}; or {', '.join(others)}" if others else shown
