"""Options of commands: how they are declared, on which device models run, what a preset changes."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import click
from click.core import ParameterSource

from builder.core.config import PresetValue, preset_commands, read_preset

PATH = click.Path(path_type=Path)
NAMES = "auto, cpu, cuda, cuda:1 or mps"


def option(*names: str, **settings: Any) -> Callable[[click.decorators.FC], click.decorators.FC]:
    """An option of click that shows its default, unless that is empty or a flag's."""
    default = settings.get("default")
    return click.option(*names, **{"show_default": bool(default) and not isinstance(default, bool), **settings})


def device_option(about: str) -> Callable[[click.decorators.FC], click.decorators.FC]:
    """`--device`, `auto` by default; `about` is the beginning of its help."""
    return option("--device", default="auto", callback=_check_device, help=f"{about}: {NAMES}.")


def _check_device(context: click.Context, option: click.Parameter, value: str) -> str:
    from builder.core.settings import is_device

    if not is_device(value):
        raise click.BadParameter(f"{value!r} is none of {NAMES}", context, option)
    return value


def with_preset_options(
    context: click.Context, options: Mapping[str, Any], preset: str | None, command: str
) -> dict[str, Any]:
    """The options with what the preset sets in place of defaults.

    Raises:
        ConfigError: no such preset, or it has nothing for the command.
    """
    if not preset:
        return dict(options)
    lines = read_preset(preset, command)
    by_default = {
        key
        for key in lines.keys() & {parameter.name for parameter in context.command.params}
        if context.get_parameter_source(key) in (None, ParameterSource.DEFAULT, ParameterSource.DEFAULT_MAP)
    }
    return {**options, **{key: _value(context, key, lines[key].value) for key in by_default}}


def preset_settings(preset: str | None) -> dict[str, PresetValue]:
    """The settings of augmentation that a preset holds, by key."""
    from builder.augment.settings import SHARED

    if not preset or "augment" not in preset_commands(preset):
        return {}
    return {key: line for key, line in read_preset(preset, "augment").items() if "." in key or key in SHARED}


def _value(context: click.Context, key: str, value: object) -> object:
    """A value as the option of that name reads it from the command line."""
    option = next(parameter for parameter in context.command.params if parameter.name == key)
    return option.process_value(context, value)
