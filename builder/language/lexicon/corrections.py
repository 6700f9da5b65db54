"""What a person's correction teaches the lexicon: the entries that the rules lacked. Pure but for `add_entry`.

In: a lexicon and a triplet that people say is there. Out: `Lesson`s; those that are accepted become entries of the
overlay `corrections` in the working directory's own lexicon.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from builder.core.errors import ResourceError
from builder.core.records import Polarity, Triplet, polarity_of
from builder.language.lexicon.candidate_scores import Endings
from builder.language.lexicon.overlay import Overlay, own, save, write
from builder.language.lexicon.resources import Lexicon
from builder.language.lexicon.tsv_rows import read_pairs
from builder.reviews.text import view

_THINGS = ("thing", "kind", "generic")
Table = Literal["opinion", "aspect", "exception", "pair"]
NAME = "corrections"
REASON = "abstract"
"""The reason of exceptions in not_aspects.tsv."""
_VALENCE: Mapping[Polarity, float] = {"POS": 8.0, "NEG": 3.0, "NEU": 5.0}
_FLIPPED: Mapping[Polarity, Polarity] = {"POS": "NEG", "NEG": "POS", "NEU": "NEU"}
_FILES: Mapping[Table, str] = {
    "opinion": f"opinions/imported_{NAME}.tsv",
    "aspect": f"aspects/imported_{NAME}.tsv",
    "exception": f"not_aspects/{NAME}.tsv",
}


@dataclass(frozen=True, slots=True)
class Lesson:
    """An entry to add: `meaning` is a valence, a class of aspects, or the reason of an exception. `before`: the valence
    that the lexicon gives the word now, if it knows it.
    """

    table: Table
    word: str
    meaning: str
    before: str = ""


def find_lessons(triplet: Triplet, lexicon: Lexicon, endings: Endings) -> tuple[Lesson, ...]:
    """The words of a triplet that the lexicon lacks, or gives another polarity; none where it is not to blame."""
    return (*_aspect_lessons(triplet, lexicon, endings), *_opinion_lessons(triplet, lexicon))


def _aspect_lessons(triplet: Triplet, lexicon: Lexicon, endings: Endings) -> Iterator[Lesson]:
    word = view(triplet.aspect.text, lexicon.variants).text
    if word not in lexicon.aspects and len(triplet.aspect.spans) == 1:
        classes = (endings.classes[word[-length:]] for length in (3, 2, 1) if word[-length:] in endings.classes)
        yield Lesson("aspect", word, next(classes, _find_usual_class(lexicon)))


def _find_usual_class(lexicon: Lexicon) -> str:
    """The class of most words for what the domain reviews; of most words at all where it has none for that."""
    classes = [entry.cls for entry in lexicon.aspects.values()]
    things = Counter(cls for cls in classes if lexicon.classes.get(cls) in _THINGS) or Counter(classes)
    return things.most_common(1)[0][0]


def _opinion_lessons(triplet: Triplet, lexicon: Lexicon) -> Iterator[Lesson]:
    """The opinion without its negator, which turns its polarity."""
    word, polarity = view(triplet.opinion.text, lexicon.variants).text, triplet.polarity
    if word not in lexicon.opinions:
        negators = [negator for negator in lexicon.negators if word.startswith(negator) and word != negator]
        if negators:
            word, polarity = word[max(map(len, negators)) :], _FLIPPED[polarity]
        elif len(triplet.opinion.spans) > 1:
            return  # what stands between is a part of it: no word to learn
    entry = lexicon.opinions.get(word)
    if entry is None:
        yield Lesson("opinion", word, f"{_VALENCE[polarity]:g}")
    elif polarity_of(entry.valence) != polarity:
        yield Lesson("opinion", word, f"{_VALENCE[polarity]:g}", f"{entry.valence:g}")


def add_entry(directory: Path, lesson: Lesson, lexicon: Lexicon) -> None:
    """Write an accepted lesson into the overlay `directory`, beside the earlier ones.

    Raises:
        ResourceError: the meaning is none of its table, or an import of the same folder holds the word already.
    """
    _check(lesson, lexicon)
    folder = directory / Path(_FILES[lesson.table]).parent
    for path in sorted(folder.glob("*.tsv")):
        if path.name != Path(_FILES[lesson.table]).name and lesson.word in read_pairs(path):
            raise ResourceError(f"{lesson.word!r} stands there already", where=str(path), fix="change that line")
    tables = {table: _read(directory / file) for table, file in _FILES.items()}
    if lesson.table == "opinion":
        tables["opinion"][lesson.word] = own(NAME, f"valence_{float(lesson.meaning):.1f}")
    else:
        tables[lesson.table][lesson.word] = lesson.meaning
    valences = {category: float(category.rpartition("_")[2]) for category in tables["opinion"].values()}
    overlay = Overlay(
        NAME,
        tuple(tables["opinion"].items()),
        tuple(tables["aspect"].items()),
        tuple((category, valence, "from corrections") for category, valence in sorted(valences.items())),
    )
    write(overlay, directory)
    if tables["exception"]:
        (directory / "not_aspects").mkdir(parents=True, exist_ok=True)
        save(directory / _FILES["exception"], "word\treason", tables["exception"].items())


def _read(path: Path) -> dict[str, str]:
    return dict(read_pairs(path)) if path.is_file() else {}


def _check(lesson: Lesson, lexicon: Lexicon) -> None:
    fits = lesson.table == "exception" and lesson.meaning == REASON
    if lesson.table == "aspect":
        fits = lesson.meaning in lexicon.classes
    elif lesson.table == "opinion":
        try:
            fits = 1 <= float(lesson.meaning) <= 10
        except ValueError:
            fits = False
    if not fits or not lesson.word.strip() or any(char in "\t\r\n" for char in lesson.word):
        raise ResourceError(
            f"{lesson.word!r} with the meaning {lesson.meaning!r} is no {lesson.table}",
            fix="an opinion has a valence from 1 to 10, an aspect a class of aspect_classes.tsv",
        )
