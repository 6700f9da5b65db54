"""What a lexicon has wrong or contradictory, and which entries it lacks by people's corrections.

`builder words lexicon check`. In: the root of a lexicon. It may be broken: everything that can be read is checked. Out:
findings with file:line, in the order of KINDS. Only the categories' valences say what contradicts what; no text is
labelled.

Corrections. In: a lexicon and a triplet that people say is there. Out: `Lesson`s, the entries that the rules lacked.
Those that are accepted become entries of the overlay `corrections` in the working directory's own lexicon. Pure but for
`add_entry`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Literal

from builder.core.errors import ResourceError
from builder.core.records import VALENCES, Polarity, Triplet, polarity_of
from builder.language.lexicon.categories import guess_class
from builder.language.lexicon.overlay import Overlay, own, save, write
from builder.language.lexicon.resources import Lexicon
from builder.language.lexicon.tsv_rows import Finding, LexiconRow, as_valence, read, read_pairs
from builder.reviews.script import Variants, script_of
from builder.reviews.text import view

# ---- Findings in a lexicon

_LONGEST = 12
"""Characters of the words that the engine looks for (engine.units.MAX_WORD)."""
KINDS = (
    "missing", "format", "unknown-kind", "valence", "variant", "simplified", "too-long", "duplicate", "contradiction",
    "overlap", "context-orphan", "unused-category",
)  # fmt: skip
_OVERLAPS = (
    ("aspects", "not_aspects", "an aspect that is also listed as never one; the aspect wins"),
    (
        "general",
        "opinions",
        "a general word that is an opinion; the opinion wins, the general entry only gives its tag",
    ),
    ("general", "aspects", "a general word that is an aspect; the aspect wins, the general entry only gives its tag"),
    ("negators", "opinions", "a negator that is an opinion; it never negates"),
    ("irrealis", "opinions", "an irrealis marker that is an opinion; it never marks"),
    ("irrealis", "aspects", "an irrealis marker that is an aspect; it never marks"),
    ("degree", "aspects", "a degree word that is an aspect; it is read as a degree word only"),
)
_WORDS = ("opinions", "aspects", "degree", "negators", "irrealis", "general", "not_aspects")


@dataclass(frozen=True, slots=True)
class _Lists:
    """The tables with words as the engine reads them (lower case, variants made one), first entry of each."""

    rows: Mapping[str, list[LexiconRow]]
    variants: Variants
    words: Mapping[str, Mapping[str, LexiconRow]]
    valences: Mapping[str, float]

    @classmethod
    def of(cls, rows: Mapping[str, list[LexiconRow]]) -> _Lists:
        table = {row.word: row.cells[1] for row in rows["variants"] if len(row.word) == len(row.cells[1])}
        variants = Variants(table)
        words: dict[str, dict[str, LexiconRow]] = {name: {} for name in _WORDS}
        for name, entries in words.items():
            for row in rows[name]:
                entries.setdefault(variants.canonical(row.word.lower()), row)
        categories = {row.word: as_valence(row.cells[1]) for row in rows["opinion_categories"]}
        return cls(rows, variants, words, {name: value for name, value in categories.items() if value is not None})

    def sign(self, word: str) -> int | None:
        """-1, 0 or 1 for an opinion word; None if it is none or its category has no valence."""
        row = self.words["opinions"].get(word)
        value = None if row is None else self.valences.get(row.cells[1])
        return None if value is None else (value > 5) - (value < 5)


def check(root: Path, overlays: Sequence[Path] = ()) -> list[Finding]:
    """All findings about the lexicon under `root` with `overlays` on top."""
    rows, findings = read(root, overlays)
    lists = _Lists.of(rows)
    for part in (_kinds, _variants, _duplicates, _composed, _context, _overlaps, _spelling):
        findings += part(lists)
    return sorted(
        findings,
        key=lambda finding: (
            KINDS.index(finding.kind),
            finding.where.partition(":")[0],
            _line(finding.where),
            finding.word,
        ),
    )


def _kinds(lists: _Lists) -> Iterator[Finding]:
    """Categories and classes that no table defines, that have no valence, or that no word uses."""
    for words, table in (
        ("opinions", "opinion_categories"),
        ("aspects", "aspect_classes"),
        ("words", "word_classes"),
    ):
        known = {row.word for row in lists.rows[table]}
        for row in lists.rows[words]:
            if row.cells[1] not in known:
                yield Finding("unknown-kind", row.word, row.where, f"{row.cells[1]!r} is not in {table}.tsv")
        used = {row.cells[1] for row in lists.rows[words]}
        for row in lists.rows[table]:
            if row.word not in used:
                yield Finding("unused-category", row.word, row.where, f"no entry of {words}/ uses it")
    for table, column in (("opinion_categories", 1), ("context", 2)):
        for row in lists.rows[table]:
            if as_valence(row.cells[column]) is None:
                yield Finding("valence", row.word, row.where, f"{row.cells[column]!r} is no number from 1 to 10")


def _variants(lists: _Lists) -> Iterator[Finding]:
    table: dict[str, str] = {}
    read = {row.cells[0] for row in lists.rows["variants"] if row.cells[0] != row.cells[1]}
    for row in lists.rows["variants"]:
        variant, canonical = row.cells
        if len(variant) != len(canonical):
            yield Finding("variant", variant, row.where, f"{canonical!r} has another length: offsets would shift")
        elif variant == canonical:  # 方麵食 keeps what 方麵 would change
            if not any(part in variant for part in read if part != variant):
                yield Finding("variant", variant, row.where, "a variant of itself")
        elif table.setdefault(variant, canonical) != canonical:
            yield Finding("contradiction", variant, row.where, f"a variant of {table[variant]!r} and of {canonical!r}")
    for row in lists.rows["variants"]:
        if row.word in table and lists.variants.canonical(row.cells[1]) != row.cells[1]:
            yield Finding(
                "variant",
                row.word,
                row.where,
                f"{row.cells[1]!r} is itself a variant of {lists.variants.canonical(row.cells[1])!r}",
            )


def _duplicates(lists: _Lists) -> Iterator[Finding]:
    """Words listed twice in a table, as written or once variants are made one; opposite signs are a contradiction.
    A word may be of several classes that rules name.
    """
    for table in ("opinion_categories", "aspect_classes", "morphemes", "word_classes", "words", *_WORDS):
        seen: dict[tuple[str, ...], LexiconRow] = {}
        for row in lists.rows[table]:
            of = row.cells[1:] if table == "words" else ()
            first = seen.setdefault((lists.variants.canonical(row.word.lower()), *of), row)
            if first is row:
                continue
            same = "" if first.word == row.word else f" as {first.word!r}"
            signs = (
                [_sign(lists.valences.get(entry.cells[1])) for entry in (first, row)] if table == "opinions" else [0, 0]
            )
            kind = "contradiction" if signs[0] * signs[1] < 0 else "duplicate"
            yield Finding(
                kind, row.word, row.where, f"{row.cells[1]!r}; stands in {first.where}{same} with {first.cells[1]!r}"
            )


def _composed(lists: _Lists) -> Iterator[Finding]:
    """Negator + opinion and degree word + opinion whose own entry says the opposite of what the parts make."""
    kinds = {word: row.cells[1] for name in ("negators", "degree") for word, row in lists.words[name].items()}
    for word, row in lists.words["opinions"].items():
        sign = lists.sign(word)
        for cut in range(1, len(word)):
            kind, base = kinds.get(word[:cut]), lists.sign(word[cut:])
            if kind is None or kind == "post" or base is None or not sign:
                continue
            made = _made(kind, base)
            if made * sign < 0 and not (kind in ("over", "low", "lean", "than") and sign < 0):
                detail = f"{word[:cut]} ({kind}) + {word[cut:]} makes {made:+d}, {row.cells[1]} says {sign:+d}"
                yield Finding("contradiction", word, row.where, detail)


def _made(kind: str, base: int) -> int:
    """The sign that a negator or degree word makes of a sign; a denied neutral is bad (engine.weighing)."""
    if kind == "short":
        return -1
    if kind in ("not", "hedge", "fail", "without"):
        return -base if base else -1
    return base


def _context(lists: _Lists) -> Iterator[Finding]:
    """Rows that contradict or repeat each other, and rows for opinions and classes that do not exist."""
    seen: dict[tuple[str, str], LexiconRow] = {}
    classes = [row.word for row in lists.rows["aspect_classes"]]
    for row in lists.rows["context"]:
        opinion, aspect = (lists.variants.canonical(cell.lower()) for cell in row.cells[:2])
        if opinion not in lists.words["opinions"]:
            yield Finding("context-orphan", row.word, row.where, "no file of opinions/ has this word")
        if aspect.startswith("@") and not any(name.startswith(aspect[1:]) for name in classes):
            yield Finding("context-orphan", row.word, row.where, f"no class begins with {aspect[1:]!r}")
        first = seen.setdefault((opinion, aspect), row)
        if first is not row:
            differ = first.cells[2] != row.cells[2]
            yield Finding(
                "contradiction" if differ else "duplicate",
                row.word,
                row.where,
                f"{row.cells[1]} {row.cells[2]}; {first.where} says {first.cells[2]}",
            )


def _overlaps(lists: _Lists) -> Iterator[Finding]:
    for table, other, why in _OVERLAPS:
        for word, row in lists.words[table].items():
            if (other_row := lists.words[other].get(word)) is not None:
                yield Finding("overlap", word, row.where, f"{why} ({other_row.where})")


def _spelling(lists: _Lists) -> Iterator[Finding]:
    """Simplified characters, which the Traditional view never shows, and words longer than the engine looks for."""
    for name in (*_WORDS, "morphemes", "context", "words"):
        for row in lists.rows[name]:
            strange = [
                char for cell in row.cells[: 2 if name == "context" else 1] for char in cell if _simplified(char)
            ]
            if strange:
                yield Finding(
                    "simplified", row.word, row.where, f"{''.join(strange)} is written in Simplified script only"
                )
            if len(row.word) > _LONGEST and row.word[0] != "@":
                yield Finding(
                    "too-long", row.word, row.where, f"{len(row.word)} characters; the engine looks for {_LONGEST}"
                )


@cache
def _simplified(char: str) -> bool:
    return script_of(char) == "simplified"


def _sign(value: float | None) -> int:
    return 0 if value is None else (value > 5) - (value < 5)


def _line(where: str) -> int:
    digits = where.rpartition(":")[2]
    return int(digits) if digits.isdigit() else 0


# ---- Lessons of corrections

_THINGS = ("thing", "kind", "generic")
Table = Literal["opinion", "aspect", "exception", "pair"]
NAME = "corrections"
REASON = "abstract"
"""The reason of exceptions in not_aspects.tsv."""
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


def find_lessons(triplet: Triplet, lexicon: Lexicon) -> tuple[Lesson, ...]:
    """The words of a triplet that the lexicon lacks, or gives another polarity; none where it is not to blame."""
    return (*_aspect_lessons(triplet, lexicon), *_opinion_lessons(triplet, lexicon))


def _aspect_lessons(triplet: Triplet, lexicon: Lexicon) -> Iterator[Lesson]:
    word = view(triplet.aspect.text, lexicon.variants).text
    if word not in lexicon.aspects and len(triplet.aspect.spans) == 1:
        yield Lesson("aspect", word, guess_class(word, lexicon, _find_usual_class(lexicon)))


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
        yield Lesson("opinion", word, f"{VALENCES[polarity]:g}")
    elif polarity_of(entry.valence) != polarity:
        yield Lesson("opinion", word, f"{VALENCES[polarity]:g}", f"{entry.valence:g}")


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
        fits = as_valence(lesson.meaning) is not None
    if not fits or not lesson.word.strip() or any(char in "\t\r\n" for char in lesson.word):
        raise ResourceError(
            f"{lesson.word!r} with the meaning {lesson.meaning!r} is no {lesson.table}",
            fix="an opinion has a valence from 1 to 10, an aspect a class of aspect_classes.tsv",
        )
