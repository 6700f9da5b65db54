"""Random changes: of bytes, and of the structure of JSON values. In: a value and chance. Out: another value."""

from __future__ import annotations

import json
import random
from typing import Any

BREAKERS = (b'"', b"'", b",", b"\t", b"\r", b"\n", b"\x00", b"\xff", b"{", b"}", b"[", b"]", b":", b"\\", b"\\u", b"\xed\xa0\x80", b"\xf0", b"PK", b"\x1f\x8b", b"PAR1", b"<", b">", b"&", b"9" * 30)  # fmt: skip
WORDS = (
    "", "text", "train", "test", "POS", "gold", "rules", "../../etc/passwd", "/etc/passwd", "湯頭很濃", "\n", "\x1b[31m", "\u202e", "\x00", "a" * 5_000, "data/train.jsonl", "1e999", "NaN", "None", "\ud83c", "con", ".", "..", "http://127.0.0.1:9/x",
)  # fmt: skip
_RAW = "@@raw {} @@"
RAW = ("1e999", "-1e999", "NaN", "Infinity", "-0", "1" + "0" * 400, "9" * 5_000, "[" * 3_000 + "]" * 3_000, '{"a":' * 3_000 + "1" + "}" * 3_000, "[" * 100_000, '"\\ud83c"', "1.5e", "tru", "")  # fmt: skip
"""Pieces of JSON that Python does not write so, some of them broken."""


def change_bytes(content: bytes, rng: random.Random) -> bytes:
    """Bytes flipped, cut, doubled, moved in, taken out."""
    out = bytearray(content)
    for _ in range(rng.choice((1, 1, 2, 5, 30))):
        at, size = rng.randrange(len(out) + 1), rng.choice((1, 2, 9, 60))
        match rng.randrange(6):
            case 0:
                out[at : at + size] = bytes(rng.randrange(256) for _ in out[at : at + size])
            case 1:
                del out[at : at + size]
            case 2:
                out[at:at] = rng.choice(BREAKERS) * rng.choice((1, 1, 3))
            case 3:
                out[at:at] = out[at : at + size]
            case 4:
                del out[at:]
            case _ if out:
                out[at % len(out)] ^= 1 << rng.randrange(8)
        if not out:
            break
    return bytes(out)


def odd_value(rng: random.Random, raw: bool = True) -> Any:
    """A value that nobody expects; `raw`: also one that only `write_json` can write."""
    values: tuple[Any, ...] = (
        None, True, False, 0, -1, 1, 2, 7, 10**30, -(10**18), 1 << 63, 1.5, 1e308, -0.0,
        [], {}, [[]], [None], [0, 1], [[0, 1]], [["a"]], {"a": {"b": []}}, {"": 0}, ["a"] * 2_000, *WORDS,
    )  # fmt: skip
    if raw and rng.random() < 0.15:
        return _RAW.format(rng.randrange(len(RAW)))
    return rng.choice(values)


def change_json(value: Any, rng: random.Random, times: int = 1) -> Any:
    """A copy of a JSON value with some of its parts changed, at random places of its tree."""
    copy = json.loads(json.dumps(value))
    for _ in range(times):
        places = [(None, None), *_places(copy)]
        # the deeper parts are many: half of the changes go to the upper ones
        holder, key = rng.choice(places[: rng.choice((4, 30, len(places)))])
        if holder is None:
            copy = odd_value(rng) if rng.random() < 0.2 else copy
        else:
            _change_part(holder, key, rng)
    return copy


def _places(value: Any) -> list[tuple[Any, Any]]:
    """(holder, key) of every part of a tree, the upper ones first."""
    places: list[tuple[Any, Any]] = []
    level = [value]
    while level:
        deeper = []
        for holder in level:
            keys = list(holder) if isinstance(holder, dict) else range(len(holder)) if isinstance(holder, list) else ()
            places += [(holder, key) for key in keys]
            deeper += [holder[key] for key in keys]
        level = deeper
    return places


def _change_part(holder: Any, key: Any, rng: random.Random) -> None:
    value = holder[key]
    match rng.randrange(8):
        case 0:
            del holder[key]
        case 1 if isinstance(holder, dict):
            holder[rng.choice(WORDS)] = holder.pop(key)
        case 1 | 2 if isinstance(holder, list):
            holder.insert(key, json.loads(json.dumps(value)))
        case 2 | 3 if isinstance(value, int) and not isinstance(value, bool):
            holder[key] = value + rng.choice((-1, 1, 1000, -1000, 1 << 40))
        case 2 | 3 if isinstance(value, str):
            at = rng.randrange(len(value) + 1)
            holder[key] = value[:at] + rng.choice(WORDS) + value[at:]
        case 4 if isinstance(holder, dict):
            holder[rng.choice(WORDS)] = odd_value(rng)
        case 5:
            holder[key] = [value]
        case 6:
            holder[key] = str(value)
        case _:
            holder[key] = odd_value(rng)


def write_json(value: Any, rng: random.Random, indent: int | None = None) -> bytes:
    """JSON with the odd pieces of `odd_value` in it."""
    text = json.dumps(value, ensure_ascii=rng.random() < 0.3, indent=indent)
    for number, raw in enumerate(RAW):
        text = text.replace(f'"{_RAW.format(number)}"', raw)
    return text.encode("utf-8", "surrogatepass")
