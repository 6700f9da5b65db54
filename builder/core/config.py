"""A preset, one TOML file and command-line overrides become frozen dataclasses; each value knows where it came from.

An unknown key, a wrong type or a value outside its choices is a `ConfigError` that names file, key and the known ones.
A preset has the settings of a paper: `presets/NAME.toml`, whose lines end in the section or table that they come from.
"""

from __future__ import annotations

import dataclasses
import difflib
import re
import tomllib
import types
import typing
from collections.abc import Mapping
from dataclasses import dataclass
from importlib.resources import files
from operator import attrgetter
from pathlib import Path
from typing import Any, Literal

from builder.core.errors import ConfigError, did_you_mean, printable
from builder.core.files import parse_toml, read_settings, written_value
from builder.core.licences import by_source, canonical
from builder.core.limits import check_limits
from builder.core.settings import Config

# ---- Settings of a build

_SPELLINGS = {"release.license": "release.licence"}
_NO_PANEL = "leave it out: builds train no panel any more, the model that builder ships judges"
_NO_RATE = "leave it out: `encoder.rate` moves the encoder, and the rest follows"
GONE = {
    "discriminate.folds": _NO_PANEL,
    "discriminate.least": _NO_PANEL,
    "discriminate.label_weight": _NO_PANEL,
    "encoder.compile": "leave it out: encoders train without torch.compile",
    "encoder.gradient_checkpointing": "leave it out: batches are halved where memory runs out",
    "encoder.head_rate": _NO_RATE,
    "encoder.layer_decay": _NO_RATE,
    "encoder.processes": "leave it out: one process trains an encoder",
    "encoder.warmup": _NO_RATE,
    "paper.constrained": "leave it out: answers are free text, as in the paper",
    "paper.patience": "leave it out: all epochs are run, and the best one counts",
    "paper.processes": "leave it out: `accelerate launch -m builder …` trains in several processes",
    "release.bump": "leave it out: a version follows from the changes, or is `release.version`",
    "paper.save_steps": "leave it out: there is a checkpoint every 2,000 steps",
}
"""Settings of earlier versions, and what stands in their place."""
PROFILES: Mapping[str, Mapping[str, object]] = {
    "embedded": {},
    "rules": {},
    "encoder": {"self_train.variants": ("C",)},
    "paper": {"self_train.confidence": 0.0, "self_train.variants": ("C",), "discriminate.mode": "paper"},
}
"""What a profile changes in the defaults: the paper's adds every prediction that its discriminator lets through."""


@dataclass(frozen=True, slots=True)
class Resolved:
    """A config and, for each dotted key, where its value came from: `default`, `profile …`, `option` …"""

    config: Config
    origin: Mapping[str, str]

    def toml(self) -> str:
        """All settings as a TOML file that `resolve` reads back; comments say where each value came from."""
        sections: dict[str, list[str]] = {}
        for key in sorted(self.origin):
            section, _, name = key.rpartition(".")
            origin = printable(self.origin[key])
            sections.setdefault(section, []).append(
                f"{name} = {written_value(attrgetter(key)(self.config))}  # {origin}"
            )
        return (
            "\n\n".join("\n".join([f"[{name}]", *lines] if name else lines) for name, lines in sorted(sections.items()))
            + "\n"
        )


def resolve(path: Path | None = None, options: Mapping[str, object] | None = None, preset: str = "") -> Resolved:
    """Defaults, then the preset of that name, then the TOML file, then `options` by dotted key ("release.licence")."""
    lines = read_preset(preset, "build") if preset else {}
    values: dict[str, tuple[object, str]] = {key: (line.value, line.origin) for key, line in lines.items()}
    if path is not None:
        values |= {key: (value, str(path)) for key, value in flatten(_read(path)).items()}
    values |= {key: (value, "option") for key, value in (options or {}).items()}
    values = {_SPELLINGS.get(key, key): value for key, value in values.items()}
    known = _keys(Config)
    for key, (_, where) in values.items():
        _check_key(key, known, where)
    profile = str(values.get("profile", (Config().profile, ""))[0])
    values = {key: (value, f"profile {profile}") for key, value in PROFILES.get(profile, {}).items()} | values
    config = _build(Config, "", values)
    origin = {key: where for key, (_, where) in values.items()}
    check_limits(config, lambda key: origin.get(key, ""))
    config = _with_licences(config, origin)
    return Resolved(config, {key: values[key][1] if key in values else "default" for key in known})


Made = typing.TypeVar("Made")


def filled(cls: type[Made], options: Mapping[str, object], where: str = "option") -> Made:
    """A dataclass of settings, sections included, from `options` by dotted key; ConfigError as in `resolve`."""
    known = _keys(cls)
    for key in options:
        _check_key(key, known, where)
    made = typing.cast(Made, _build(cls, "", {key: (value, where) for key, value in options.items()}))
    check_limits(made, lambda key: where if key in options else "")
    return made


def _check_key(key: str, known: list[str], where: str) -> None:
    if key in known:
        return
    within = [name for name in known if name.startswith(f"{key}.")]
    close = [name for name in known if name.endswith(f".{key}")] or difflib.get_close_matches(
        key, [*known, *{name.partition(".")[0] for name in known}], 1
    )
    fix = GONE.get(key) or (
        f"it is a section with {', '.join(within)}"
        if within
        else f"did you mean {close[0]!r}?"
        if close
        else "known: " + ", ".join(sorted(known))
    )
    raise ConfigError(f"unknown key {key!r}", where=where, fix=fix)


def _with_licences(config: Config, origin: Mapping[str, str]) -> Config:
    """The licences as SPDX spells them; ConfigError for one that is not on its list."""
    licence = canonical(config.release.licence, origin.get("release.licence", ""))
    licences = by_source(config.release.licences, origin.get("release.licences", ""))
    pairs = tuple(f"{source}={name}" for source, name in sorted(licences.items()))
    return dataclasses.replace(config, release=dataclasses.replace(config.release, licence=licence, licences=pairs))


def flat(section: object, prefix: str = "") -> dict[str, object]:
    """A config dataclass as dotted keys and plain values, for keys and manifests."""
    out: dict[str, object] = {}
    for spec in dataclasses.fields(section):  # type: ignore[arg-type]
        value = getattr(section, spec.name)
        if dataclasses.is_dataclass(value):
            out |= flat(value, f"{prefix}{spec.name}.")
        else:
            out[prefix + spec.name] = list(value) if isinstance(value, tuple) else value
    return out


def _read(path: Path) -> dict[str, Any]:
    try:
        return parse_toml(read_settings(path))
    except FileNotFoundError as error:
        raise ConfigError("no such config file", where=str(path)) from error
    except (OSError, ValueError) as error:
        raise ConfigError(f"cannot be read as TOML: {error}", where=str(path)) from error


def _keys(cls: type) -> list[str]:
    return list(flat(cls()))


def _build(cls: type, prefix: str, values: Mapping[str, tuple[object, str]]) -> Any:
    hints = typing.get_type_hints(cls)
    made: dict[str, object] = {}
    for spec in dataclasses.fields(cls):
        key, hint = prefix + spec.name, hints[spec.name]
        if dataclasses.is_dataclass(hint):
            made[spec.name] = _build(typing.cast(type, hint), key + ".", values)
        elif key in values:
            made[spec.name] = _checked(key, hint, *values[key])
    return cls(**made)


def _checked(key: str, hint: Any, value: object, where: str) -> object:
    origin = typing.get_origin(hint)
    if origin is Literal:
        choices = typing.get_args(hint)
        if value not in choices:
            message = f"{key} = {value!r} is not one of {', '.join(map(repr, choices))}"
            raise ConfigError(message, where=where, fix=_NO_PANEL if value == "cross-fit" else "")
        return value
    if origin is tuple:
        if not isinstance(value, (list, tuple)) or not all(isinstance(item, str) for item in value):
            raise ConfigError(f"{key} = {value!r} is no list of strings", where=where)
        return tuple(value)
    if hint is float and isinstance(value, int) and not isinstance(value, bool):
        return float(value)
    if not isinstance(hint, types.GenericAlias) and (
        not isinstance(value, hint) or isinstance(value, bool) is not (hint is bool)
    ):
        raise ConfigError(f"{key} = {value!r} is no {hint.__name__}", where=where)
    return value


def toml_value(text: str) -> object:
    """A value as TOML writes it; a bare word is a string."""
    try:
        return parse_toml(f"value = {text}")["value"]
    except tomllib.TOMLDecodeError:
        return text


# ---- Presets

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
    return (files("builder.core") / "presets" / f"{name}.toml").read_text(encoding="utf-8")


def flatten(section: Mapping[str, object], prefix: str = "") -> dict[str, object]:
    """The values of nested tables by their dotted keys."""
    out: dict[str, object] = {}
    for key, value in section.items():
        out |= flatten(value, f"{prefix}{key}.") if isinstance(value, dict) else {prefix + key: value}
    return out
