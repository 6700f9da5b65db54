"""What a preset changes in the options of `augment` and `bench`.

In: the options of a command and the name of a preset. Out: the options, with the preset's values where the user gave
none; and the settings of augmentation methods that it holds.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import click
from click.core import ParameterSource

from builder.core.presets import PresetValue, preset_commands, read_preset


def with_preset_options(
    context: click.Context, options: Mapping[str, Any], preset: str | None, command: str
) -> dict[str, Any]:
    """The options with what the preset sets in place of defaults; a preset's lines for options have no dot.

    Raises:
        ConfigError: no such preset, or it has nothing for the command.
    """
    if not preset:
        return dict(options)
    lines = {key: line for key, line in read_preset(preset, command).items() if "." not in key}
    by_default = {
        key
        for key in lines
        if context.get_parameter_source(key) in (None, ParameterSource.DEFAULT, ParameterSource.DEFAULT_MAP)
    }
    return {**options, **{key: _value(context, key, lines[key].value) for key in by_default}}


def preset_settings(preset: str | None) -> dict[str, PresetValue]:
    """The settings of methods that a preset holds, by dotted key."""
    if not preset or "augment" not in preset_commands(preset):
        return {}
    return {key: line for key, line in read_preset(preset, "augment").items() if "." in key}


def _value(context: click.Context, key: str, value: object) -> object:
    """A value as the option of that name reads it from the command line."""
    option = next(parameter for parameter in context.command.params if parameter.name == key)
    return option.process_value(context, value)
