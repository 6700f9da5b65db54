"""lexicons/ becomes one frozen record; every error names file:line.

In: the data directory of the project (or of a wheel, which carries it as `builder/data/`), and overlays. Out:
`Lexicon` with a digest, which stages store as part of their signature. Nothing is cached across paths and nothing is
read at import.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from types import MappingProxyType
from typing import TypeVar

from builder.errors import ResourceError
from builder.lexicon.compounds import Kinds, compounds
from builder.text import Variants, view

Entry = TypeVar("Entry")
_POS_OF = {"time": "NOUN", "person": "NOUN", "pronoun": "PRON", "abstract": "NOUN", "place": "PROPN", "origin": "PROPN"}
"""Reasons of not_aspects.tsv -> universal POS."""

AGAINST = ("but", "though", "pity")
"""The kinds of contrast.tsv that set one thing against another."""

_PACKAGE = Path(__file__).parent.parent


def data_dir(name: str) -> Path:
    """The directory `lexicons` or `rules`: beside the package in a checkout, inside it in a wheel."""
    for root in (_PACKAGE / "data", _PACKAGE.parent):
        if (root / name).is_dir():
            return root / name
    raise ResourceError(f"the directory {name}/ is missing", where=str(_PACKAGE.parent), fix="reinstall the package")


def overlays(workdir: Path) -> tuple[Path, ...]:
    """The lexicon that a user has added to a working directory, if there is one."""
    folder = workdir / "lexicon"
    return (folder,) if any(folder.rglob("*.tsv")) else ()


def sample_dir() -> Path:
    """The folder of the shipped sample."""
    return _PACKAGE / "sample"


@dataclass(frozen=True, slots=True)
class OpinionEntry:
    """An opinion word: its semantic category and the category's valence (1 to 10; paper, section 3.2.1)."""

    word: str
    category: str
    valence: float
    where: str


@dataclass(frozen=True, slots=True)
class AspectEntry:
    """An aspect term and its class, for example `price.level`."""

    word: str
    cls: str
    where: str


@dataclass(frozen=True, slots=True)
class Lexicon:
    """All lexicons, by word. `context` maps an opinion to (aspect class prefix `@price` or literal word, valence) rows.

    `overridden` are the words whose meaning an overlay replaced.
    """

    opinions: Mapping[str, OpinionEntry]
    aspects: Mapping[str, AspectEntry]
    context: Mapping[str, tuple[tuple[str, float], ...]]
    degree: Mapping[str, str]
    negators: Mapping[str, str]
    irrealis: Mapping[str, str]
    contrast: Mapping[str, str]
    general: Mapping[str, str]
    not_aspects: Mapping[str, str]
    variants: Variants
    morphemes: Mapping[str, str]
    categories: Mapping[str, float]
    digest: str
    overridden: tuple[str, ...] = ()

    def knows(self, opinion: str) -> bool:
        """Whether an opinion of a stored text, in whatever script, stands in the opinion lexicon, with or without a
        negator before it.

        S* of the paper's Algorithm 1 holds the triplets whose opinion does not.
        """
        written = (opinion.lower(), view(opinion, self.variants, "simplified").text.lower())
        bare = [word[len(negator) :] for word in written for negator in self.negators if word.startswith(negator)]
        return any(word in self.opinions for word in (*written, *bare))

    def words(self) -> dict[str, str]:
        """The user dictionary for a segmenter: word -> universal POS, empty where the segmenter should decide, or its
        parts.

        Entries that are several words (服務態度, 微辣) have these as their value, one space between two: the segmenter
        tells the parts, the engine joins them.
        """
        out: dict[str, str] = dict.fromkeys((*self.degree, *self.negators, *self.irrealis), "") | dict(self.general)
        out |= {word: self.general.get(word, _POS_OF.get(reason, "")) for word, reason in self.not_aspects.items()}
        out |= dict.fromkeys(self.aspects, "NOUN") | dict.fromkeys(self.opinions, "")
        out |= compounds(out.keys(), self._kinds(out), self.degree)
        return {word: pos for word, pos in out.items() if not any(map(str.isspace, word))}

    def _kinds(self, known: Iterable[str]) -> Kinds:
        before_dishes = [word for word, role in self.morphemes.items() if role in ("method", "flavour")]
        amounts = [word for word, kind in self.degree.items() if kind == "post"]
        amounts += [word for word, reason in self.not_aspects.items() if reason == "quantity"]
        verbs = [word for word, pos in self.general.items() if pos == "VERB"]
        nouns = [*self.aspects, *self.not_aspects]
        rest = [*known, *self.morphemes]
        claims = (("A", self.opinions), ("Y", amounts), ("N", nouns), ("V", verbs), ("M", before_dishes), ("X", rest))
        return Kinds.of(claims, self.general)


def load_lexicon(directory: Path | None = None, overlays: Sequence[Path] = ()) -> Lexicon:
    """Read lexicons/ and lay `overlays` (folders that builder.lexicon writes) on top, the last one uppermost.

    ResourceError with file:line on a broken line, an unknown category, or a word listed twice in a folder.
    """
    root = directory or data_dir("lexicons")
    table = _pairs(root / "variants.tsv")
    for variant, canonical in table.items():
        if len(variant) != len(canonical):
            raise ResourceError(
                f"variant {variant!r} and {canonical!r} differ in length", where=str(root / "variants.tsv")
            )
    variants = Variants(table)
    categories = {row[0]: _valence(row[1], where) for row, where in read_rows(root / "opinion_categories.tsv", 3)}
    classes = {row[0]: 0.0 for row, _ in read_rows(root / "aspect_classes.tsv", 2)}
    context: dict[str, list[tuple[str, float]]] = {}
    for (opinion, aspect, valence), where in read_rows(root / "context.tsv", 3):
        context.setdefault(variants.canonical(opinion), []).append(
            (variants.canonical(aspect), _valence(valence, where))
        )
    plain = {
        name: _read_as_written(_pairs(root / f"{name}.tsv"), variants)
        for name in ("degree", "negators", "irrealis", "contrast", "general", "not_aspects", "food_morphemes")
    }
    lexicon = Lexicon(
        opinions=_entries(
            root / "opinions",
            categories,
            variants,
            lambda word, kind, where: OpinionEntry(word, kind, categories[kind], where),
        ),
        aspects=_entries(root / "aspects", classes, variants, AspectEntry),
        context=MappingProxyType({word: tuple(rows) for word, rows in context.items()}),
        degree=plain["degree"],
        negators=plain["negators"],
        irrealis=plain["irrealis"],
        contrast=plain["contrast"],
        general=plain["general"],
        not_aspects=plain["not_aspects"],
        variants=variants,
        morphemes=plain["food_morphemes"],
        categories=MappingProxyType(categories),
        digest=folder_digest(root, "*.tsv"),
    )
    for overlay in overlays:
        lexicon = _overlaid(lexicon, overlay, classes)
    return lexicon


def _overlaid(lexicon: Lexicon, folder: Path, classes: Mapping[str, float]) -> Lexicon:
    """`lexicon` with the opinions, aspects and categories of `folder`, which win over what it said."""
    if not folder.is_dir():
        raise ResourceError(
            "this lexicon overlay does not exist", where=str(folder), fix="make one with `builder lexicon import`"
        )
    table = folder / "opinion_categories.tsv"
    if strange := sorted(path.name for path in folder.glob("*.tsv") if path != table):
        fix = "it holds opinion_categories.tsv, opinions/ and aspects/"
        raise ResourceError(f"a lexicon overlay cannot hold {', '.join(strange)}", where=str(folder), fix=fix)
    own = {row[0]: _valence(row[1], where) for row, where in read_rows(table, 3)} if table.is_file() else {}
    categories = {**lexicon.categories, **own}

    def opinion(word: str, kind: str, where: str) -> OpinionEntry:
        return OpinionEntry(word, kind, categories[kind], where)

    opinions = _entries(folder / "opinions", categories, lexicon.variants, opinion)
    aspects = _entries(folder / "aspects", classes, lexicon.variants, AspectEntry)
    replaced = [
        *lexicon.overridden,
        *sorted(opinions.keys() & lexicon.opinions.keys()),
        *sorted(aspects.keys() & lexicon.aspects.keys()),
    ]
    digest = hashlib.sha256(f"{lexicon.digest} {folder_digest(folder, '*.tsv')}".encode()).hexdigest()[:16]
    return replace(
        lexicon,
        opinions=MappingProxyType({**lexicon.opinions, **opinions}),
        aspects=MappingProxyType({**lexicon.aspects, **aspects}),
        categories=MappingProxyType(categories),
        digest=digest,
        overridden=tuple(dict.fromkeys(replaced)),
    )


def _entries(
    folder: Path, kinds: Mapping[str, float], variants: Variants, make: Callable[[str, str, str], Entry]
) -> Mapping[str, Entry]:
    """`word kind` rows of all files of a folder, words as the view writes them; a word may stand in one row only."""
    seen: dict[str, str] = {}
    out: dict[str, Entry] = {}
    for path in sorted(folder.glob("*.tsv")):
        for (word, kind), where in read_rows(path, 2):
            if kind not in kinds:
                raise ResourceError(
                    f"unknown {folder.name[:-1]} kind {kind!r}",
                    where=where,
                    fix="add it to the table of categories or classes, or correct it",
                )
            if word in seen:
                raise ResourceError(f"{word!r} is listed already", where=where, fix=f"keep one of it and {seen[word]}")
            seen[word] = where
            canonical = variants.canonical(word.lower())
            out.setdefault(canonical, make(canonical, kind, where))
    return MappingProxyType(out)


def _read_as_written(pairs: Mapping[str, str], variants: Variants) -> Mapping[str, str]:
    """The same pairs with words as the view writes them."""
    return MappingProxyType({variants.canonical(word.lower()): value for word, value in pairs.items()})


def read_rows(path: Path, columns: int) -> Iterator[tuple[list[str], str]]:
    """The rows of a TSV with a header line: exactly `columns` non-empty cells, `#` starts a comment line."""
    try:
        lines = path.read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise ResourceError(f"cannot be read: {error}", where=str(path)) from error
    shown = f"{path.parent.name}/{path.name}"
    for number, line in enumerate(lines[1:], start=2):
        if not line.strip() or line.startswith("#"):
            continue
        cells = line.split("\t")
        if len(cells) != columns or not all(cell and cell == cell.strip() for cell in cells):
            raise ResourceError(
                f"{len(cells)} cells where {columns} are due, or a blank one: {line!r}", where=f"{path}:{number}"
            )
        yield cells, f"{shown}:{number}"


def _pairs(path: Path) -> Mapping[str, str]:
    out: dict[str, str] = {}
    for (key, value), where in read_rows(path, 2):
        if out.setdefault(key, value) != value:
            raise ResourceError(f"{key!r} is listed with {out[key]!r} and {value!r}", where=where, fix="keep one")
    return MappingProxyType(out)


def _valence(cell: str, where: str) -> float:
    try:
        value = float(cell)
    except ValueError:
        value = 0.0
    if not 1 <= value <= 10:
        raise ResourceError(f"valence {cell!r} is no number from 1 to 10", where=where)
    return value


def folder_digest(root: Path, pattern: str) -> str:
    """The digest of the names and bytes of the files under `root` that match `pattern`."""
    digest = hashlib.sha256()
    for path in sorted(root.rglob(pattern)):
        digest.update(path.relative_to(root).as_posix().encode() + b"\0" + path.read_bytes() + b"\0")
    return digest.hexdigest()[:16]
