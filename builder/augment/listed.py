"""Lists of words beside the code: a kind, a colon and its words a line; lines that begin with # are remarks."""

from __future__ import annotations

from pathlib import Path


def lines(name: str) -> list[tuple[str, list[str]]]:
    """(kind, words) of each line of a file of this folder."""
    text = Path(__file__).with_name(name).read_text("utf-8")
    parts = (line.partition(": ") for line in text.splitlines() if not line.startswith("#"))
    return [(kind, listed.split()) for kind, _, listed in parts]
