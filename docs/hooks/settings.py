"""The settings as Markdown: dataclasses, their types and defaults, and the docstring under each field."""

from __future__ import annotations

import ast
import dataclasses
import inspect
import textwrap
import typing
from collections.abc import Iterator

from builder.augment.settings import AugmentSettings
from builder.settings import Config


def describe_build_settings() -> str:
    """The sections of `settings.toml`."""
    return _describe(Config, "")


def describe_augmentation_settings() -> str:
    """What `builder augment --set` takes."""
    return _describe(AugmentSettings, "")


def field_sentences(cls: type) -> dict[str, str]:
    """The docstring under each field of a dataclass; a field that a subclass only sets anew keeps its parent's."""
    sentences: dict[str, str] = {}
    for parent in reversed(cls.__mro__[:-1]):
        body = ast.parse(textwrap.dedent(inspect.getsource(parent))).body[0]
        assert isinstance(body, ast.ClassDef), parent
        for field, below in zip(body.body, body.body[1:], strict=False):
            if isinstance(field, ast.AnnAssign) and isinstance(field.target, ast.Name) and isinstance(below, ast.Expr):
                sentences[field.target.id] = " ".join(str(ast.literal_eval(below.value)).split())
    return sentences


def walk_settings(cls: type, prefix: str = "") -> Iterator[tuple[str, str, dataclasses.Field[object], str]]:
    """Section, key, field and sentence of every setting, those of sections last."""
    hints, sentences = typing.get_type_hints(cls), field_sentences(cls)
    for field in dataclasses.fields(cls):
        if not dataclasses.is_dataclass(hints[field.name]):
            yield prefix, field.name, field, sentences.get(field.name, "")
    for field in dataclasses.fields(cls):
        hint = hints[field.name]
        if isinstance(hint, type) and dataclasses.is_dataclass(hint) and field.name != "given":
            yield from walk_settings(hint, f"{prefix}{field.name}.")


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
    hints = typing.get_type_hints(cls)
    rows = [
        f"| `{key}` | {_values(hints[key], field)} | {sentence} |"
        for prefix, key, field, sentence in walk_settings(cls)
        if not prefix
    ]
    return ["| key | default | meaning |", "|---|---|---|", *rows, ""]


def _values(hint: object, field: dataclasses.Field[object]) -> str:
    """The default, and what else may be chosen."""
    default = field.default if field.default is not dataclasses.MISSING else field.default_factory()  # type: ignore[misc]
    shown = f"`{_toml(default)}`"
    others = (
        [value for value in typing.get_args(hint) if value != default]
        if typing.get_origin(hint) is typing.Literal
        else []
    )
    return f"{shown}; or {', '.join(f'`{_toml(value)}`' for value in others)}" if others else shown


def _toml(value: object) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, tuple):
        return "[" + ", ".join(map(_toml, value)) + "]"
    return f'"{value}"' if isinstance(value, str) else str(value)
