"""JSON that somebody else wrote. In: text. Out: its value, or a ValueError, whatever keeps it from being read."""

from __future__ import annotations

import json
from typing import Any


def parse_json(text: str) -> Any:
    """The value of a JSON text. ValueError where it is none, is nested too deeply, or has a number of endless digits.

    >>> parse_json('{"id": 1}')
    {'id': 1}
    """
    try:
        return json.loads(text)
    except json.JSONDecodeError:
        raise
    except RecursionError as error:
        raise ValueError("nested too deeply") from error
    except ValueError as error:  # Python reads no integer of more digits, and its advice is for programmers
        raise ValueError("a number has over 4,300 digits") from error
