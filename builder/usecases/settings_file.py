"""A settings file to begin with, and what one setting means.

In: nothing but the settings' own sentences. Out: TOML in which every setting stands commented out, and lines of text.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import groupby

from builder.config import written_value
from builder.errors import ConfigError, did_you_mean
from builder.presets import preset_commands, read_preset
from builder.settings import Config
from builder.usecases.setting_sentences import SettingFacts, section_sentences, setting_facts

_HEAD = """\
# Settings of builder. Each line shows a default; remove its # to change the value.
# Use it:  builder build reviews.csv --config {name}
# Explain: builder config KEY
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


def explained(key: str, value: object = None, origin: str = "") -> Iterator[str]:
    """What a setting means, in lines; those of a section, a line each. `value` and `origin`: as it is set somewhere.

    ConfigError for a key that there is not.
    """
    known = {fact.key: fact for fact in setting_facts(Config)}
    if key in section_sentences(Config):
        yield section_sentences(Config)[key]
        yield ""
        width = max(len(name) for name, fact in known.items() if fact.section == f"{key}.")
        yield from (f"  {name:<{width}}  {fact.sentence}" for name, fact in known.items() if fact.section == f"{key}.")
        return
    if key not in known:
        ending = [name for name in known if name.rpartition(".")[2] == key]
        hint = f"did you mean {ending[0]}? " if ending else did_you_mean(key, known)
        raise ConfigError(f"unknown setting {key!r}", fix=f"{hint}`builder config` lists all")
    fact = known[key]
    shown = written_value(fact.default)
    yield f"{key}: {fact.sentence}"
    yield f"  value    {', '.join(map(written_value, fact.choices)) if fact.choices else fact.kind}"
    yield f"  default  {shown}"
    if origin:
        yield f"  here     {written_value(value)} ({origin})"
    section = f"[{fact.section[:-1]}] " if fact.section else ""
    yield f"  in TOML  {section}{fact.name} = {shown}"
    yield f"  or       builder build --set {key}={_on_command_line(fact)}"


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
