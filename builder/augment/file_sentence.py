"""A labelled sentence of a file, whatever the format, and the language of a file."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from builder.augment.records import Sentence
from builder.script import HAN

Language = Literal["zh", "en"]


@dataclass(frozen=True, slots=True)
class FileSentence:
    """`labels` is what the format says of each mark (ATEPC: polarities) or of the whole (APC, TSV: the label as
    written, the aspect's mark).
    """

    sentence: Sentence
    labels: tuple[str, ...] = ()
    judged: int = -1


def language_of(content: str) -> Language:
    """Chinese where a tenth of the letters are Han characters."""
    letters = [char for char in content[:20_000] if char.isalpha()]
    return "zh" if sum(bool(HAN.match(char)) for char in letters) * 10 > len(letters) else "en"
