"""What a preset shows of its paper, and where builder departs from it: the tables of the page on reproducing."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass

from builder.core import config


@dataclass(frozen=True, slots=True)
class Departure:
    """Where builder does not do as a paper says, and why; `settings`: patterns of the settings that it is about."""

    what: str
    why: str
    settings: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class ShownRow:
    """A table or figure of a paper. `command`: the working directory or file that tells its command from the others of
    the page; `departs`: names of departures.
    """

    shown: str
    command: str
    input: str
    stands_in: str = ""
    departs: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Faithfulness:
    """What is shown of a paper, and what departs from it; `without_effect`: patterns of settings that change nothing
    with the preset's values.
    """

    shown: tuple[ShownRow, ...]
    departures: Mapping[str, Departure]
    without_effect: tuple[str, ...]


def read_faithfulness(name: str) -> Faithfulness:
    """What a preset says of tables, figures and departures.

    >>> read_faithfulness("cbert-2019").departures["two_words"].what
    'two words are masked'
    """
    document = tomllib.loads(config.preset_text(name))
    return Faithfulness(
        tuple(
            ShownRow(shown, row["command"], row["input"], row.get("stands_in", ""), tuple(row.get("departs", ())))
            for shown, row in document["shown"].items()
        ),
        {
            key: Departure(row["what"], row["why"], tuple(row.get("settings", ())))
            for key, row in document["departures"].items()
        },
        tuple(document["without_effect"]),
    )
