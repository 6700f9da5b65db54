"""A settings file to begin with, and what one setting means.

In: nothing but the settings' own sentences, and presets. Out: TOML in which every setting stands commented out, and
lines of text.

What the settings mean, read from their dataclasses: key, type, default, and the docstring under each field.
"""

from __future__ import annotations

import ast
import dataclasses
import inspect
import textwrap
import typing
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import groupby

from builder.core.config import written_value
from builder.core.errors import ConfigError, did_you_mean
from builder.core.presets import preset_commands, read_preset
from builder.core.settings import Config


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


_HEAD = """\
# Settings of builder. Each line shows a default; remove its # to change the value.
# Use it:  builder build reviews.csv --config {name}
# Explain: builder setup config KEY
"""


def commented_settings(name: str) -> str:
    """A settings file in which everything is a comment, so that it changes nothing as it stands."""
    abouts = section_sentences(Config)
    parts = [_HEAD.format(name=name)]
    for section, facts in groupby(setting_facts(Config), key=lambda fact: fact.section):
        lines = [f"[{section[:-1]}]", f"# {abouts[section[:-1]]}", ""] if section else []
        for fact in facts:
            lines += [f"# {fact.sentence}", f"# {fact.name} = {written_value(fact.default)}{_others(fact)}", ""]
        parts.append("\n".join(lines))
    return "\n".join(parts).rstrip() + "\n"


def explained(key: str, others: Mapping[str, type]) -> Iterator[str]:
    """What a setting means, in lines; those of a section, a line each.

    `others`: the settings of other commands than `builder build`. ConfigError for a key that there is not.
    """
    for command, settings in (("builder build", Config), *others.items()):
        known = {fact.key: fact for fact in setting_facts(settings)}
        if key in section_sentences(settings) and any(name.startswith(f"{key}.") for name in known):
            yield section_sentences(settings)[key]
            yield ""
            within = [fact for fact in known.values() if fact.section == f"{key}."]
            width = max(len(fact.key) for fact in within)
            yield from (f"  {fact.key:<{width}}  {fact.sentence}" for fact in within)
            return
        if key in known:
            yield from _fact_lines(known[key], command)
            return
    names = [fact.key for fact in setting_facts(Config)]
    ending = [name for name in names if name.rpartition(".")[2] == key]
    sections = {fact.section.rstrip(".") for fact in setting_facts(Config)} - {""}
    near = did_you_mean(key, sections) or did_you_mean(key, names)
    hint = f"did you mean {ending[0]}? " if ending else near
    raise ConfigError(f"unknown setting {key!r}", fix=f"{hint}`builder setup config` lists all")


def _fact_lines(fact: SettingFacts, command: str) -> Iterator[str]:
    shown = written_value(fact.default)
    yield f"{fact.key}: {fact.sentence}"
    yield f"  value    {', '.join(map(written_value, fact.choices)) if fact.choices else fact.kind}"
    yield f"  default  {shown}"
    if command == "builder build":
        section = f"[{fact.section[:-1]}] " if fact.section else ""
        yield f"  in TOML  {section}{fact.name} = {shown}"
        yield f"  or       {command} --set {fact.key}={_on_command_line(fact)}"
    else:
        yield f"  set it   {command} --set {fact.key}={_on_command_line(fact)}"


def all_settings() -> Iterator[tuple[str, str, str]]:
    """Key, default and sentence of every setting."""
    return ((fact.key, written_value(fact.default), fact.sentence) for fact in setting_facts(Config))


def preset_rows(name: str) -> Iterator[tuple[str, str, str, str]]:
    """Command, key, value and the part of the paper of everything that a preset sets."""
    for command in preset_commands(name):
        for key, line in read_preset(name, command).items():
            yield command, key, written_value(line.value), line.source


def _others(fact: SettingFacts) -> str:
    rest = [written_value(choice) for choice in fact.choices if choice != fact.default]
    return f"  # or {', '.join(rest)}" if rest else ""


def _on_command_line(fact: SettingFacts) -> str:
    """A value as a shell takes it: the quotes of TOML are for TOML."""
    shown = written_value(fact.default)
    return f"'{shown}'" if shown.startswith(('"', "[")) else shown
