"""lexicons/ and rules/ become frozen records; every error names file:line.

In: the data directories of the project (or of a wheel, which carries them as `builder/data/`). Out: `Lexicon` and `Rule`s with a
digest each, which stages store as part of their signature. Nothing is cached across paths and nothing is read at import.
"""

from __future__ import annotations

import hashlib
import tomllib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import Mapping

from builder.errors import ResourceError

_PACKAGE = Path(__file__).parent


def data_dir(name: str) -> Path:
    """The directory `lexicons` or `rules`: beside the package in a checkout, inside it in a wheel."""
    for root in (_PACKAGE / "data", _PACKAGE.parent):
        if (root / name).is_dir():
            return root / name
    raise ResourceError(f"the directory {name}/ is missing", where=str(_PACKAGE.parent), fix="reinstall the package")


def sample_dir() -> Path:
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
    """All lexicons, by word. `context` maps an opinion to (aspect class prefix `@price` or literal word, valence) rows."""

    opinions: Mapping[str, OpinionEntry]
    aspects: Mapping[str, AspectEntry]
    context: Mapping[str, tuple[tuple[str, float], ...]]
    degree: Mapping[str, str]
    negators: Mapping[str, str]
    irrealis: Mapping[str, str]
    general: Mapping[str, str]
    not_aspects: Mapping[str, str]
    variants: Mapping[str, str]
    morphemes: Mapping[str, str]
    categories: Mapping[str, float]
    digest: str

    def words(self) -> dict[str, str]:
        """The user dictionary for a segmenter: word -> universal POS, empty where the segmenter should decide."""
        out = {word: "" for word in self.opinions}
        out |= {word: "NOUN" for word in self.aspects if word not in out}
        out |= {word: "NOUN" for word in self.not_aspects}
        out |= {word: "ADV" for words in (self.degree, self.negators) for word in words}
        return out | {word: "" for word in self.irrealis if word not in out} | dict(self.general)


@dataclass(frozen=True, slots=True)
class Example:
    """A text and the triplets (`aspect|opinion|POS`) that a rule must or must not make of it."""

    text: str
    triplets: tuple[str, ...]
    must: bool


@dataclass(frozen=True, slots=True)
class Rule:
    """One phenomenon: `kind` names the mechanism in the engine, `params` are its data, `examples` hold it to its word."""

    name: str
    kind: str
    order: int
    about: str
    params: Mapping[str, object]
    examples: tuple[Example, ...]
    where: str


def load_lexicon(directory: Path | None = None) -> Lexicon:
    """Read lexicons/. ResourceError with file:line on a broken line, an unknown category, or a word listed twice."""
    root = directory or data_dir("lexicons")
    categories = {row[0]: _valence(row[1], where) for row, where in _rows(root / "opinion_categories.tsv", 3)}
    opinions: dict[str, OpinionEntry] = {}
    for path in sorted((root / "opinions").glob("*.tsv")):
        for (word, category), where in _rows(path, 2):
            if category not in categories:
                raise ResourceError(f"unknown category {category!r}", where=where, fix="add it to opinion_categories.tsv")
            _once(opinions, word, where, lambda entry: entry.where)
            opinions[word] = OpinionEntry(word, category, categories[category], where)
    classes = {row[0] for row, _ in _rows(root / "aspect_classes.tsv", 2)}
    aspects: dict[str, AspectEntry] = {}
    for path in sorted((root / "aspects").glob("*.tsv")):
        for (word, cls), where in _rows(path, 2):
            if cls not in classes:
                raise ResourceError(f"unknown aspect class {cls!r}", where=where, fix="add it to aspect_classes.tsv")
            _once(aspects, word, where, lambda entry: entry.where)
            aspects[word] = AspectEntry(word, cls, where)
    context: dict[str, list[tuple[str, float]]] = {}
    for (opinion, aspect, valence), where in _rows(root / "context.tsv", 3):
        context.setdefault(opinion, []).append((aspect, _valence(valence, where)))
    pairs = {name: _pairs(root / f"{name}.tsv") for name in ("degree", "negators", "irrealis", "general", "not_aspects", "variants", "food_morphemes")}
    for variant, canonical in pairs["variants"].items():
        if len(variant) != len(canonical):
            raise ResourceError(f"variant {variant!r} and {canonical!r} differ in length", where=str(root / "variants.tsv"))
    return Lexicon(
        opinions=MappingProxyType(opinions),
        aspects=MappingProxyType(aspects),
        context=MappingProxyType({word: tuple(rows) for word, rows in context.items()}),
        degree=pairs["degree"],
        negators=pairs["negators"],
        irrealis=pairs["irrealis"],
        general=pairs["general"],
        not_aspects=pairs["not_aspects"],
        variants=pairs["variants"],
        morphemes=pairs["food_morphemes"],
        categories=MappingProxyType(categories),
        digest=_digest(root, "*.tsv"),
    )


def load_rules(directory: Path | None = None) -> tuple[Rule, ...]:
    """Read rules/*.toml in their order. ResourceError with the file on a missing key or a rule named twice."""
    root = directory or data_dir("rules")
    rules: dict[str, Rule] = {}
    for path in sorted(root.glob("*.toml")):
        try:
            raw = tomllib.loads(path.read_text(encoding="utf-8"))
        except tomllib.TOMLDecodeError as error:
            raise ResourceError(f"not TOML: {error}", where=str(path)) from error
        for name, body in raw.items():
            if name in rules:
                raise ResourceError(f"rule {name!r} stands in {rules[name].where} already", where=str(path))
            rules[name] = _rule(name, body, str(path))
    return tuple(sorted(rules.values(), key=lambda rule: (rule.order, rule.name)))


def rules_digest(directory: Path | None = None) -> str:
    return _digest(directory or data_dir("rules"), "*.toml")


def _rule(name: str, body: object, where: str) -> Rule:
    if not isinstance(body, dict):
        raise ResourceError(f"{name!r} stands outside a rule", where=where, fix="write it under a [rule-name] heading")
    body = dict(body)
    missing = {"kind", "order", "about"} - body.keys()
    if missing:
        raise ResourceError(f"rule {name!r} lacks {', '.join(sorted(missing))}", where=where)
    examples = [Example(e["text"], tuple(e.get("triplets", ())), must) for key, must in (("hit", True), ("miss", False)) for e in body.pop(key, ())]
    return Rule(name, body.pop("kind"), body.pop("order"), body.pop("about"), MappingProxyType(body), tuple(examples), where)


def _once(seen: Mapping[str, object], word: str, where: str, at: object) -> None:
    if word in seen:
        raise ResourceError(f"{word!r} is listed already", where=where, fix=f"keep one of it and {at(seen[word])}")  # type: ignore[operator]


def _rows(path: Path, columns: int) -> Iterator[tuple[list[str], str]]:
    """The rows of a TSV with a header line: exactly `columns` non-empty cells, `#` starts a comment line."""
    try:
        lines = path.read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise ResourceError(f"cannot be read: {error}", where=str(path)) from error
    for number, line in enumerate(lines[1:], start=2):
        if not line.strip() or line.startswith("#"):
            continue
        cells = line.split("\t")
        if len(cells) != columns or not all(cell == cell.strip() and cell for cell in cells):
            raise ResourceError(f"{len(cells)} cells where {columns} are due, or a blank one: {line!r}", where=f"{path}:{number}")
        yield cells, f"{path.parent.name}/{path.name}:{number}"


def _pairs(path: Path) -> Mapping[str, str]:
    out: dict[str, str] = {}
    for (key, value), where in _rows(path, 2):
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


def _digest(root: Path, pattern: str) -> str:
    digest = hashlib.sha256()
    for path in sorted(root.rglob(pattern)):
        digest.update(path.relative_to(root).as_posix().encode() + b"\0" + path.read_bytes() + b"\0")
    return digest.hexdigest()[:16]
