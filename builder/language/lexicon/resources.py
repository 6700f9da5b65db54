"""lexicons/ becomes one frozen record; every error names file:line.

In: the data directory of the project (or of a wheel, which carries it as `builder/data/`), and overlays. Out:
`Lexicon` with a digest, which stages store as part of their signature. Nothing is cached across paths and nothing is
read at import.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from types import MappingProxyType
from typing import NamedTuple, TypeVar

from builder.core.errors import ResourceError, did_you_mean
from builder.core.settings import RESTAURANT
from builder.language.lexicon.compounds import Kinds, compounds
from builder.language.lexicon.packs import data_dir, list_layers
from builder.language.lexicon.tsv_rows import (
    MARKS,
    PLAIN,
    ROLES,
    WHOLE,
    Classes,
    check_overlay,
    folder_digest,
    load_word_classes,
    read_pairs,
    read_rows,
    read_valence,
    table_files,
)
from builder.reviews.script import Variants
from builder.reviews.text import view

Entry = TypeVar("Entry")
_POS_OF = {"time": "NOUN", "person": "NOUN", "pronoun": "PRON", "abstract": "NOUN", "place": "PROPN", "origin": "PROPN"}
"""Reasons of not_aspects.tsv -> universal POS."""

AGAINST = ("but", "though", "pity")
"""The kinds of contrast.tsv that set one thing against another."""

_PACKAGE = Path(__file__).parents[2]


def overlays(workdir: Path) -> tuple[Path, ...]:
    """The lexicon that a user has added to a working directory, if there is one."""
    folder = workdir / "lexicon"
    return (folder,) if any(folder.rglob("*.tsv")) else ()


def sample_dir() -> Path:
    """The folder of the shipped sample."""
    return _PACKAGE / "sample"


class OpinionEntry(NamedTuple):
    """An opinion word: its semantic category and the category's valence (1 to 10; paper, section 3.2.1)."""

    word: str
    category: str
    valence: float
    where: str


class AspectEntry(NamedTuple):
    """An aspect term and its class, for example `price.level`."""

    word: str
    cls: str
    where: str


@dataclass(frozen=True, slots=True)
class Lexicon:
    """All lexicons, by word. `context` maps an opinion to (aspect class prefix `@price` or literal word, valence) rows.

    `classes`: class of aspects -> its role, one of `ROLES`. `overridden`: the words whose meaning an overlay replaced.
    `word_classes`: class of words that rules name -> its words.
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
    classes: Mapping[str, str]
    digest: str
    overridden: tuple[str, ...] = ()
    word_classes: Classes = field(default_factory=dict)
    _words: Mapping[str, str] | None = field(default=None, init=False, repr=False, compare=False)
    """What `words` gives, where it is known; a lexicon that `replace` makes of this one knows it no more."""

    def knows(self, opinion: str) -> bool:
        """Whether an opinion of a stored text, in whatever script, stands in the opinion lexicon, with or without a
        negator before it.

        S* of the paper's Algorithm 1 holds the triplets whose opinion does not.
        """
        written = (opinion.lower(), view(opinion, self.variants, "simplified").text.lower())
        bare = [word[len(negator) :] for word in written for negator in self.negators if word.startswith(negator)]
        return any(word in self.opinions for word in (*written, *bare))

    def role(self, aspect: str) -> str:
        """The role of an aspect's class; empty for a word that is no aspect."""
        entry = self.aspects.get(aspect)
        return self.classes.get(entry.cls, "") if entry else ""

    @property
    def default_class(self) -> str:
        """The class of an aspect of which nothing is known: the first of a thing, else of anything, else of all."""
        for wanted in ("thing", "generic"):
            if names := [name for name, role in self.classes.items() if role == wanted]:
                return names[0]
        return next(iter(self.classes), "")

    def words(self) -> dict[str, str]:
        """The user dictionary for a segmenter: word -> universal POS, empty where the segmenter should decide, or its
        parts.

        Entries that are several words (服務態度, 微辣) have these as their value, one space between two: the segmenter
        tells the parts, the engine joins them. A score does not cut the minutes that begin like it (80分, 80分鐘).
        """
        if self._words is not None:
            return dict(self._words)
        out: dict[str, str] = dict.fromkeys((*self.degree, *self.negators, *self.irrealis), "") | dict(self.general)
        out |= {word: self.general.get(word, _POS_OF.get(reason, "")) for word, reason in self.not_aspects.items()}
        out |= dict.fromkeys(self.aspects, "NOUN") | dict.fromkeys(self.opinions, "")
        scores = [word[:-1] for word in self.opinions if word.endswith("分")]
        out |= {f"{score}分鐘": f"{score} 分鐘" for score in scores if score.isnumeric()}
        out |= compounds(out.keys(), self._kinds(out), self.degree)
        return {word: pos for word, pos in out.items() if word.split() == [word]}

    def know_words(self, words: Mapping[str, str]) -> None:
        """Have `words` give these, which it gave before for the same lexicon."""
        object.__setattr__(self, "_words", words)

    def _kinds(self, known: Iterable[str]) -> Kinds:
        before_things = [word for word, role in self.morphemes.items() if role in ("verb", "adjective")]
        uses = [word for word, role in self.morphemes.items() if role == "use" and len(word) == 1]
        amounts = [word for word, kind in self.degree.items() if kind == "post"]
        amounts += [word for word, reason in self.not_aspects.items() if reason == "quantity"]
        verbs = [word for word, pos in self.general.items() if pos == "VERB"]
        nouns = [*self.aspects, *self.not_aspects]
        rest = [*known, *self.morphemes]
        own = (("T", uses), ("A", self.opinions), ("Y", amounts), ("N", nouns))
        claims = (*own, ("V", verbs), ("M", before_things), ("X", rest))
        return Kinds.of(claims, self.general)


def load_lexicon(directory: Path | None = None, overlays: Sequence[Path] = (), domain: str = RESTAURANT) -> Lexicon:
    """Read the core and lay the pack of `domain` over it, or read `directory`, which holds a whole lexicon, alone; then
    lay `overlays` (folders with some of its tables) on top, the last one uppermost.

    ResourceError with file:line on a broken line, an unknown category, or a word listed twice in a folder.
    """
    root = directory or data_dir("lexicons")
    layers = () if directory else list_layers(domain)
    overlays = (*(folder for pack in layers for folder in pack.lexicons), *overlays)
    if missing := [name for name in WHOLE if not (root / f"{name}.tsv").is_file()]:
        raise ResourceError(
            f"a whole lexicon has {', '.join(f'{name}.tsv' for name in missing)} too",
            where=str(root),
            fix=f"copy them from {data_dir('lexicons')}, "
            'or lay the folder over the shipped one (lexicons.mode = "add")',
        )
    table = read_pairs(root / "variants.tsv")
    for variant, canonical in table.items():
        if len(variant) != len(canonical):
            raise ResourceError(
                f"variant {variant!r} and {canonical!r} differ in length", where=str(root / "variants.tsv")
            )
    empty = Lexicon({}, {}, {}, {}, {}, {}, {}, {}, {}, Variants(table), {}, {}, {}, "")
    lexicon = replace(_overlaid(empty, root), digest=folder_digest(root, "*.tsv"))
    for overlay in overlays:
        check_overlay(overlay)
        lexicon = _overlaid(lexicon, overlay)
    return replace(lexicon, word_classes=load_word_classes((root, *overlays)))


def _overlaid(lexicon: Lexicon, folder: Path) -> Lexicon:
    """`lexicon` with the tables of `folder`, which win over what it said. A whole lexicon lies over an empty one."""
    categories, classes = dict(lexicon.categories), dict(lexicon.classes)
    for path in table_files(folder, "opinion_categories"):
        categories |= {row[0]: read_valence(row[1], where) for row, where in read_rows(path, 3)}
    for path in table_files(folder, "aspect_classes"):
        classes |= _read_classes(path)
    opinions = _entries(folder / "opinions", categories, lexicon.variants, _opinion_maker(categories))
    aspects = _entries(folder / "aspects", classes, lexicon.variants, AspectEntry)
    own = {
        name: {
            word: value
            for path in table_files(folder, name)
            for word, value in _read_as_written(read_pairs(path), lexicon.variants).items()
        }
        for name in PLAIN
    }
    below: dict[str, Mapping[str, str]] = {name: getattr(lexicon, name) for name in PLAIN}
    plain = {name: MappingProxyType({**below[name], **own[name]}) for name in PLAIN}
    marks = {word for name in MARKS for word in own[name]}
    context = dict(lexicon.context)
    for path in table_files(folder, "context"):
        for word, rows in _read_context(path, lexicon.variants).items():
            named = {aspect for aspect, _ in rows}
            context[word] = (*rows, *(row for row in lexicon.context.get(word, ()) if row[0] not in named))
    replaced = [*lexicon.overridden]
    for ours, theirs in ((opinions, lexicon.opinions), (aspects, lexicon.aspects)):
        replaced += sorted((ours.keys() | marks) & theirs.keys())
    digest = hashlib.sha256(f"{lexicon.digest} {folder_digest(folder, '*.tsv')}".encode()).hexdigest()[:16]
    return replace(
        lexicon,
        opinions=_laid_over(_revalued(lexicon.opinions, categories), opinions, marks),
        aspects=_laid_over(lexicon.aspects, aspects, marks),
        context=MappingProxyType(context),
        degree=plain["degree"],
        negators=plain["negators"],
        irrealis=plain["irrealis"],
        contrast=plain["contrast"],
        general=plain["general"],
        not_aspects=plain["not_aspects"],
        morphemes=plain["morphemes"],
        categories=MappingProxyType(categories),
        classes=MappingProxyType(classes),
        digest=digest,
        overridden=tuple(dict.fromkeys(replaced)),
    )


def _laid_over(below: Mapping[str, Entry], above: Mapping[str, Entry], marks: set[str]) -> Mapping[str, Entry]:
    kept = {word: entry for word, entry in below.items() if word not in marks} if marks else below
    return MappingProxyType({**kept, **above})


def _revalued(opinions: Mapping[str, OpinionEntry], categories: Mapping[str, float]) -> Mapping[str, OpinionEntry]:
    """Opinions with the valence that an upper folder gives their category."""
    if all(categories[entry.category] == entry.valence for entry in opinions.values()):
        return opinions
    return {word: entry._replace(valence=categories[entry.category]) for word, entry in opinions.items()}


def _read_classes(path: Path) -> dict[str, str]:
    """Class -> role of a table of classes."""
    classes: dict[str, str] = {}
    for (name, role, _), where in read_rows(path, 3):
        if role not in ROLES:
            raise ResourceError(f"role {role!r} of the class {name!r}", where=where, fix=f"known: {', '.join(ROLES)}")
        classes[name] = role
    return classes


def _read_context(path: Path, variants: Variants) -> Mapping[str, tuple[tuple[str, float], ...]]:
    context: dict[str, list[tuple[str, float]]] = {}
    for (opinion, aspect, valence), where in read_rows(path, 3):
        context.setdefault(variants.canonical(opinion), []).append(
            (variants.canonical(aspect), read_valence(valence, where))
        )
    return MappingProxyType({word: tuple(rows) for word, rows in context.items()})


def _opinion_maker(categories: Mapping[str, float]) -> Callable[[str, str, str], OpinionEntry]:
    return lambda word, kind, where: OpinionEntry(word, kind, categories[kind], where)


def _entries(
    folder: Path, kinds: Collection[str], variants: Variants, make: Callable[[str, str, str], Entry]
) -> Mapping[str, Entry]:
    """`word kind` rows of all files of a folder, words as the view writes them; a word may stand in one row only."""
    seen: dict[str, str] = {}
    out: dict[str, Entry] = {}
    for path in sorted(folder.glob("*.tsv")):
        for (word, kind), where in read_rows(path, 2):
            if kind not in kinds:
                table = "aspect_classes.tsv" if folder.name == "aspects" else "opinion_categories.tsv"
                raise ResourceError(
                    f"{kind!r} is in no {table}",
                    where=f"{folder.parent}/{where}",
                    fix=f"{did_you_mean(kind, kinds)}correct it, or add it to {folder.parent / table}",
                )
            if word in seen:
                raise ResourceError(
                    f"{word!r} is listed already",
                    where=f"{folder.parent}/{where}",
                    fix=f"keep this row or {folder.parent}/{seen[word]}",
                )
            seen[word] = where
            canonical = variants.canonical(word.lower())
            out.setdefault(canonical, make(canonical, kind, where))
    return MappingProxyType(out)


def _read_as_written(pairs: Mapping[str, str], variants: Variants) -> Mapping[str, str]:
    """The same pairs with words as the view writes them."""
    return MappingProxyType({variants.canonical(word.lower()): value for word, value in pairs.items()})
