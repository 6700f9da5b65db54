"""Settings as text: what a candidate depends on, and what a trained model does.

A field says by its metadata what it does not change: `FREE` fields change nothing (batches, threads), `LATER` ones
only what is written, not what is learnt.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import Field, fields
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from _typeshed import DataclassInstance

FREE: Mapping[str, str] = {"changes": "nothing"}
LATER: Mapping[str, str] = {"changes": "writing"}


def describe_settings(settings: DataclassInstance) -> str:
    """What a candidate depends on."""
    return _describe_fields(settings, ("nothing",))


def describe_training(settings: DataclassInstance) -> str:
    """What a trained model depends on."""
    return _describe_fields(settings, ("nothing", "writing"))


def sign_method(name: str, settings: DataclassInstance, *more: str) -> str:
    """The signature of a method: its name with its settings and what else its output depends on, such as a model."""
    return f"{name}({'; '.join((describe_settings(settings), *more))})"


def _describe_fields(settings: DataclassInstance, without: tuple[str, ...]) -> str:
    chosen: list[Field[Any]] = [field_ for field_ in fields(settings) if field_.metadata.get("changes") not in without]
    return ", ".join(f"{field_.name}={getattr(settings, field_.name)!r}" for field_ in chosen)
