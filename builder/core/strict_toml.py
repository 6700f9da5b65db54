"""TOML that somebody else wrote. In: text. Out: its tables, or a TOMLDecodeError, whatever keeps it from being read."""

from __future__ import annotations

import tomllib
from typing import Any

_MOST_DOTS = 5_000
"""Dots of a line: the time for a key of so many parts grows with their square."""


def parse_toml(text: str) -> dict[str, Any]:
    """The tables of a TOML text. TOMLDecodeError where it is none, is nested too deeply, or has numbers or keys without
    an end.

    >>> parse_toml("seed = 1")
    {'seed': 1}
    """
    if any(line.count(".") > _MOST_DOTS for line in text.split("\n")):
        raise tomllib.TOMLDecodeError(f"a line has over {_MOST_DOTS:,} dots")
    try:
        return tomllib.loads(text)
    except tomllib.TOMLDecodeError:
        raise
    except RecursionError as error:
        raise tomllib.TOMLDecodeError("nested too deeply") from error
    except ValueError as error:  # Python reads no integer of more digits, and its advice is for programmers
        raise tomllib.TOMLDecodeError("a number has over 4,300 digits") from error
