"""What each word of a pack changes in raw reviews, before it is kept.

In: texts, the folder of a pack. Out: a `WordEffect` for each word that changes something. The rules read the texts with
and without the pack, and a difference counts for every word of the pack that stands in it. A word whose readings are
more often lost, shortened or turned than gained does harm, however right it is by itself.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from pathlib import Path

from builder.core.edges import clashes
from builder.core.records import Triplet
from builder.core.settings import CORE
from builder.engine.reader import Recipe, make_reader
from builder.language.lexicon.folders import Folders
from builder.language.lexicon.resources import Lexicon
from builder.reviews.text import view


@dataclass(frozen=True, slots=True)
class WordEffect:
    """So many triplets that a word adds, drops, shortens in aspect or opinion, and turns to another polarity."""

    word: str
    added: int
    dropped: int
    shortened: int
    turned: int

    @property
    def loses(self) -> bool:
        """Whether it harms more readings than it adds."""
        return self.dropped + self.shortened + self.turned > self.added

    def __str__(self) -> str:
        """
        >>> str(WordEffect("取景", 1, 0, 3, 0))
        '取景: 1 added, 3 shortened'
        """
        counts = {"added": self.added, "dropped": self.dropped, "shortened": self.shortened, "turned": self.turned}
        return f"{self.word}: {', '.join(f'{count} {name}' for name, count in counts.items() if count)}"


def measure_words(texts: Sequence[str], words: Collection[str], folder: Path) -> list[WordEffect]:
    """What words of the pack in `folder` change in texts, the most harmful first. `words` as lexicons write them."""
    readers = [make_reader(Recipe(folders=Folders(domain=domain))) for domain in (CORE, str(folder))]
    before, after = (reader.extract(texts) for reader in readers)
    counts: dict[str, Counter[str]] = {}
    for old, new in zip(before, after, strict=True):
        for effect, triplets in _compare(old, new):
            shown = "\n".join(_show(triplet, readers[0].lexicon) for triplet in triplets)
            for word in words:
                if word in shown:
                    counts.setdefault(word, Counter())[effect] += 1
    effects = [
        WordEffect(word, *(count[name] for name in ("added", "dropped", "shortened", "turned")))
        for word, count in counts.items()
    ]
    return sorted(effects, key=lambda one: (one.added - one.dropped - one.shortened - one.turned, one.word))


def _compare(old: Sequence[Triplet], new: Sequence[Triplet]) -> list[tuple[str, tuple[Triplet, ...]]]:
    """What became of the triplets of a text, each difference with the triplets in which it shows."""
    out: list[tuple[str, tuple[Triplet, ...]]] = []
    for triplet in old:
        others = [other for other in new if clashes(triplet, other)]
        if not others:
            out.append(("dropped", (triplet,)))
        elif all(other.polarity != triplet.polarity for other in others):
            out.append(("turned", (triplet, others[0])))
        elif all(_is_shorter(other, triplet) for other in others):
            out.append(("shortened", (triplet, others[0])))
    out += [("added", (triplet,)) for triplet in new if not any(clashes(triplet, other) for other in old)]
    return out


def _is_shorter(triplet: Triplet, other: Triplet) -> bool:
    pairs = ((triplet.aspect_full, other.aspect_full), (triplet.opinion_full, other.opinion_full))
    return any(mine.text != its.text and mine.text in its.text for mine, its in pairs)


def _show(triplet: Triplet, lexicon: Lexicon) -> str:
    return view(f"{triplet.aspect_full.text}\n{triplet.opinion_full.text}", lexicon.variants).text.lower()
