"""The option `--device` of the commands that run models. In: what runs there. Out: a decorator of a command."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import click

Function = TypeVar("Function", bound=Callable[..., Any])
NAMES = "auto, cpu, cuda, cuda:1 or mps"


def device_option(about: str) -> Callable[[Function], Function]:
    """`--device`, `auto` by default; `about` is the beginning of its help."""
    return click.option(
        "--device", default="auto", show_default=True, callback=_check_device, help=f"{about}: {NAMES}."
    )


def _check_device(context: click.Context, option: click.Parameter, value: str) -> str:
    from builder.core.model_settings import is_device

    if not is_device(value):
        raise click.BadParameter(f"{value!r} is none of {NAMES}", context, option)
    return value
