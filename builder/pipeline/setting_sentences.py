"""What the settings mean, read from their dataclasses: key, type, default, and the docstring under each field.

In: dataclasses such as `builder.core.config.Config`. Out: facts for `builder init`, `builder config` and the documents.
"""

from __future__ import annotations

import ast
import dataclasses
import inspect
import textwrap
import typing
from collections.abc import Iterator
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class SettingFacts:
    """A setting: `section` is empty or ends with a dot. `choices` are all values where there is a list of them."""

    section: str
    name: str
    default: object
    choices: tuple[object, ...]
    kind: str
    sentence: str

    @property
    def key(self) -> str:
        """The dotted key, as `--set` takes it."""
        return self.section + self.name


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


def setting_facts(cls: type, section: str = "") -> Iterator[SettingFacts]:
    """Every setting of a dataclass; those of its sections last."""
    hints, sentences = typing.get_type_hints(cls), field_sentences(cls)
    for field in dataclasses.fields(cls):
        hint = hints[field.name]
        if not dataclasses.is_dataclass(hint):
            choices = typing.get_args(hint) if typing.get_origin(hint) is typing.Literal else ()
            kind = _KINDS.get(typing.get_origin(hint) or hint, "")
            yield SettingFacts(section, field.name, default_of(field), choices, kind, sentences.get(field.name, ""))
    for field in dataclasses.fields(cls):
        hint = hints[field.name]
        if isinstance(hint, type) and dataclasses.is_dataclass(hint) and field.name != "given":
            yield from setting_facts(hint, f"{section}{field.name}.")


def section_sentences(cls: type) -> dict[str, str]:
    """The docstring of each section, by its name."""
    hints = typing.get_type_hints(cls)
    return {
        name: " ".join((inspect.getdoc(hint) or "").split())
        for name, hint in hints.items()
        if isinstance(hint, type) and dataclasses.is_dataclass(hint)
    }


def default_of(field: dataclasses.Field[object]) -> object:
    """The default of a field."""
    if field.default is not dataclasses.MISSING:
        return field.default
    assert field.default_factory is not dataclasses.MISSING, field.name
    return field.default_factory()


_KINDS: dict[object, str] = {
    int: "a whole number", float: "a number", str: "text", bool: "true or false", tuple: "a list of texts",
    typing.Literal: "one of a list",
}  # fmt: skip
