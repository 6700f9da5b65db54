"""A labelled sentence of a file, whatever the format, what is no sentence in it, and the language of a file."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal, NoReturn

from builder.augment.records import Sentence
from builder.reviews.script import HAN

Language = Literal["zh", "en"]


@dataclass(frozen=True, slots=True)
class FileSentence:
    """`labels` is what the format says of each mark (ATEPC: polarities) or of the whole (APC, TSV: the label as
    written, the aspect's mark).
    """

    sentence: Sentence
    labels: tuple[str, ...] = ()
    judged: int = -1


@dataclass(frozen=True, slots=True)
class FaultyLines:
    """Lines of a file, from 1, that are not of its format; `what` names the first that is wrong."""

    first: int
    last: int
    what: str


Report = Callable[[FaultyLines], None]
"""What a reader calls with the lines that it leaves out."""


def refuse(fault: FaultyLines) -> NoReturn:
    """The report that ends the reading: ValueError."""
    raise ValueError(fault.what)


def language_of(content: str) -> Language:
    """Chinese where a tenth of the letters are Han characters."""
    letters = [char for char in content[:20_000] if char.isalpha()]
    return "zh" if sum(bool(HAN.match(char)) for char in letters) * 10 > len(letters) else "en"
