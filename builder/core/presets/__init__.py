"""The settings of the papers, a file each: `NAME.toml` beside this module.

In: the name of a preset and a command. Out: the values that the preset gives to that command, each with the section
or table of the paper that it comes from, which is the comment at the end of its line.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from importlib.resources import files

from builder.core.errors import ConfigError, did_you_mean

NAMES = ("iws-2024", "masked-seq2seq-2020", "cbert-2019", "boostaug-2022")
COMMANDS = ("build", "judge", "augment", "bench")
"""Commands that take a preset; the first part of each key in the file."""
_LINE = re.compile(r"(?P<key>[a-z0-9_.]+) = (?:(?!\s# \S).)*+\s# (?P<source>.+)")


@dataclass(frozen=True, slots=True)
class PresetValue:
    """A value of a preset; `source` is where in the paper it stands, `preset` the preset's name."""

    value: object
    source: str
    preset: str

    @property
    def origin(self) -> str:
        """As it is shown beside the value."""
        return f"preset {self.preset}: {self.source}"


def read_preset(name: str, command: str) -> dict[str, PresetValue]:
    """The values of preset `name` for a command, by dotted key.

    Raises:
        ConfigError: there is no such preset, or it has nothing for the command.

    >>> read_preset("iws-2024", "build")["self_train.iterations"].origin
    'preset iws-2024: appendix 11.1, three iterations'
    """
    text = preset_text(name)
    sources = {match["key"]: match["source"] for line in text.splitlines() if (match := _LINE.fullmatch(line))}
    values = flatten(tomllib.loads(text))
    chosen = {
        key.removeprefix(f"{command}."): PresetValue(value, sources[key], name)
        for key, value in values.items()
        if key.startswith(f"{command}.")
    }
    if not chosen:
        fitting = " and ".join(f"`builder {other}`" for other in preset_commands(name))
        raise ConfigError(
            f"the preset {name} has nothing for `builder {command}`", where="--preset", fix=f"it is for {fitting}"
        )
    return chosen


def preset_commands(name: str) -> list[str]:
    """The commands that a preset is for."""
    values = flatten(tomllib.loads(preset_text(name)))
    return [command for command in COMMANDS if any(key.startswith(f"{command}.") for key in values)]


def preset_text(name: str) -> str:
    """The file of a preset; ConfigError for an unknown one."""
    if name not in NAMES:
        raise ConfigError(
            f"unknown preset {name!r}", where="--preset", fix=f"{did_you_mean(name, NAMES)}known: {', '.join(NAMES)}"
        )
    return files(__name__).joinpath(f"{name}.toml").read_text(encoding="utf-8")


def flatten(section: Mapping[str, object], prefix: str = "") -> dict[str, object]:
    """The values of nested tables by their dotted keys."""
    out: dict[str, object] = {}
    for key, value in section.items():
        out |= flatten(value, f"{prefix}{key}.") if isinstance(value, dict) else {prefix + key: value}
    return out
