"""The limits of settings, and the check that holds all of them.

A dataclass of settings declares its limits in a method `limits`: for each key, whether its value is allowed and what
is. `check_limits` takes such a dataclass with its sections and raises a ConfigError for the first value outside.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from operator import attrgetter

from builder.core.errors import ConfigError

Limits = dict[str, tuple[bool, str]]
"""Key -> whether its value is allowed, and what is: the words that follow "KEY = VALUE is not"."""


def at_least(least: int, value: float) -> tuple[bool, str]:
    """The limit of a count."""
    return value >= least, f"at least {least}"


def above_0(value: float) -> tuple[bool, str]:
    """The limit of a rate or a temperature."""
    return value > 0, "above 0"


def from_0_to_1(value: float) -> tuple[bool, str]:
    """The limit of a probability."""
    return 0 <= value <= 1, "from 0 to 1"


def share_above_0(value: float) -> tuple[bool, str]:
    """The limit of a share of which nothing would make no sense."""
    return 0 < value <= 1, "a share above 0"


def among(choices: tuple[str, ...], value: str) -> tuple[bool, str]:
    """The limit of a name."""
    return value in choices, "one of " + ", ".join(choices)


def check_limits(settings: object, where: Callable[[str], str], prefix: str = "") -> None:
    """Raise ConfigError for the first value outside its limits; `where` says of a dotted key where its value stands."""
    declared: Callable[[], Limits] | None = getattr(settings, "limits", None)
    for key, (allowed, due) in declared().items() if declared else ():
        if not allowed:
            value = _shown(attrgetter(key)(settings))
            raise ConfigError(f"{prefix}{key} = {value} is not {due}", where=where(prefix + key))
    for spec in dataclasses.fields(settings):  # type: ignore[arg-type]
        section = getattr(settings, spec.name)
        if dataclasses.is_dataclass(section):
            check_limits(section, where, f"{prefix}{spec.name}.")


def _shown(value: object) -> str:
    return f'"{value}"' if isinstance(value, str) else str(list(value)) if isinstance(value, tuple) else str(value)
