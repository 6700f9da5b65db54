"""Lexicons in the layouts that people hold become an overlay in ours: `builder words lexicon import`.

In: a file, its kind, the lexicon in use, and the options of the import. Out: `Overlay` with entries, the categories
they need, and every line that was refused, with its reason. Words are written as the view shows them: Traditional,
width folded.

There is one reader a kind. It gives `Entry`s, one a word, each with the line it stands in. A line that is no entry is
one with a reason.

| kind | one line is | becomes |
|---|---|---|
| `ehownet` | a category, its words or both; or a word with its definition | opinions, a category each |
| `valence-csv` | a row with the columns Word or Phrase and Valence_Mean (CVAW) | opinions, valence to one decimal |
| `ntusd` | a word, or words parted by commas; the file's name or an option gives the polarity | opinions, 7 or 3 |
| `dishes` | a dish, or a table whose first column is one | aspects, food.dish unless the options name another class |
| `words` | a word, then a tab and its category, class or part of speech | opinions, aspects, or general words |

A part of speech of `words` is CKIP's or universal; a bare word is a general one. `valence-csv` takes tab or comma.
"""

from __future__ import annotations

import csv
import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from builder.core.errors import ConfigError, InputError, ResourceError
from builder.core.wording import counted
from builder.language.lexicon.overlay import Overlay, Refused, check_name, own
from builder.language.lexicon.resources import Lexicon
from builder.language.lexicon.tsv_rows import as_number
from builder.reviews.script import HAN, script_of
from builder.reviews.text import view

# ---- Readers of files

POSITIVE, NEGATIVE = 7.0, 3.0
_HEADERS = frozenset(["word", "words", "name", "dish", "title", "詞", "詞彙", "菜名", "名稱"])
_WORD_COLUMNS, _VALENCE_COLUMNS = ("word", "phrase"), ("valence_mean", "valence")


@dataclass(frozen=True, slots=True)
class Options:
    """Settings of an import. Empty or None where the format's own default applies.

    `polarity` is for ntusd; `cls` the class of words without one of their own; `category` the category of all opinions
    in place of the file's; `scale` the lowest and highest valence of the file; `neutral` how far from the scale's
    middle a valence is no opinion; `shortest` and `longest` words taken, in characters; `keep_known` refuses words
    that the lexicon in use has; `encoding` where it is not UTF-8. `valences` gives categories of E-HowNet a valence,
    `tags` parts of speech of other schemes a universal one.
    """

    name: str = ""
    polarity: str = ""
    cls: str = ""
    category: str = ""
    scale: tuple[float, float] | None = None
    neutral: float = 0.5
    shortest: int | None = None
    longest: int = 12
    keep_known: bool = True
    encoding: str = ""
    valences: Mapping[str, float] = field(default_factory=dict)
    tags: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Entry:
    """A word of a file: an opinion with its category and valence, an aspect with its class, a general word with its
    part of speech, or a refusal.
    """

    line: int
    word: str
    category: str = ""
    valence: float | None = None
    cls: str = ""
    pos: str = ""
    reason: str = ""
    detail: str = ""


Reader = Callable[[str, Path, Lexicon, Options], Iterator[Entry]]


def rescaled(value: float, low: float, high: float) -> float:
    """A valence of a scale low..high on ours, half by half, so that its middle is our neutral 5 (of 1..9: 9 is 10)."""
    middle = (low + high) / 2
    return 1 + 4 * (value - low) / (middle - low) if value <= middle else 5 + 5 * (value - middle) / (high - middle)


def read_valence_csv(text: str, path: Path, lexicon: Lexicon, options: Options) -> Iterator[Entry]:
    """Opinions of a table with a column of words and one of valences."""
    low, high = options.scale or (1.0, 9.0)
    head = text.partition("\n")[0]
    rows = csv.reader(text.splitlines(), delimiter="\t" if "\t" in head else ",")
    names = [name.strip().lower() for name in next(rows, [])]
    word, value = (
        next((names.index(name) for name in wanted if name in names), -1)
        for wanted in (_WORD_COLUMNS, _VALENCE_COLUMNS)
    )
    if word < 0 or value < 0:
        raise InputError(
            "no column Word or Phrase, or no column Valence_Mean", where=f"{path}:1", fix=f"found: {', '.join(names)}"
        )
    for cells in rows:
        line = rows.line_num
        number = as_number(cells[value]) if len(cells) > max(word, value) else None
        if number is None or not low <= number <= high:
            shown = cells[word] if len(cells) > word else ""
            yield Entry(line, shown, reason="valence", detail=f"no number from {low:g} to {high:g}")
        elif abs(number - (low + high) / 2) < options.neutral:
            yield Entry(line, cells[word], reason="neutral", detail=f"{number:g}")
        else:
            ours = round(rescaled(number, low, high), 1)
            yield Entry(line, cells[word], f"valence_{ours:.1f}", ours)


def read_ntusd(text: str, path: Path, lexicon: Lexicon, options: Options) -> Iterator[Entry]:
    """Opinions of a list that is positive or negative as a whole."""
    named = {word for word in ("positive", "negative") if word in path.stem.lower()}
    polarity = options.polarity or (named.pop() if len(named) == 1 else "")
    if polarity not in ("positive", "negative"):
        raise ConfigError(
            "an NTUSD list does not say whether its words are positive or negative",
            where=str(path),
            fix="give the polarity, positive or negative",
        )
    for line, row in numbered_lines(text):
        for word in re.split(r"[,，]", row):
            yield Entry(line, word.strip(), polarity, POSITIVE if polarity == "positive" else NEGATIVE)


def read_dishes(text: str, path: Path, lexicon: Lexicon, options: Options) -> Iterator[Entry]:
    """Aspects of a list of names, or of a table whose first column holds them."""
    for line, row in numbered_lines(text):
        word = row.split("\t")[0].strip()
        if line == 1 and word.lower() in _HEADERS:
            yield Entry(line, word, reason="header")
        else:
            yield Entry(line, word, cls=options.cls or lexicon.default_class)


def read_words(text: str, path: Path, lexicon: Lexicon, options: Options) -> Iterator[Entry]:
    """Words with a category, a class or a part of speech; bare words have that of the options, or none."""
    for line, row in numbered_lines(text):
        cells = [cell.strip() for cell in row.split("\t")]
        kind = cells[1] if len(cells) == 2 else options.category or options.cls
        if len(cells) > 2 or (len(cells) == 1 and not kind):
            detail = (
                f"{counted(len(cells), 'cell')} where 2 are due; for a list of bare words name a --class or --category"
            )
            yield Entry(line, cells[0], reason="cells", detail=detail)
        elif line == 1 and cells[0].lower() in _HEADERS:
            yield Entry(line, cells[0], reason="header")
        elif kind in lexicon.categories:
            yield Entry(line, cells[0], kind, lexicon.categories[kind])
        elif kind in lexicon.classes:
            yield Entry(line, cells[0], cls=kind)
        elif tag := universal_tag(kind, options.tags):
            yield Entry(line, cells[0], pos=tag)
        else:
            detail = f"{kind!r} is no category, class or part of speech"
            yield Entry(line, cells[0], reason="unknown-kind", detail=detail)


def universal_tag(tag: str, tags: Mapping[str, str]) -> str:
    """The universal part of speech of a tag: by the table, else by the coarser one it belongs to (VH11 is a VH, Nab a
    Na). Empty where the table has neither.
    """
    coarse = tag.rstrip("0123456789")
    names = (tag, coarse, *(coarse[:end] for end in range(len(coarse) - 1, 1, -1) if coarse[end].islower()))
    return next((tags[name] for name in names if name in tags), "")


def numbered_lines(text: str) -> Iterator[tuple[int, str]]:
    """Numbered lines without blank ones and comments."""
    for number, line in enumerate(text.splitlines(), start=1):
        if line.strip() and not line.startswith("#"):
            yield number, line


def read_text(path: Path, encoding: str) -> str:
    """The file's text, in `encoding`, by its byte order mark, or UTF-8. Never guessed: Big5 and GBK look alike."""
    try:
        raw = path.read_bytes()
        marked = "utf-16" if raw[:2] in (b"\xff\xfe", b"\xfe\xff") else "utf-8-sig"
        return raw.decode(encoding or marked)
    except (OSError, UnicodeDecodeError, LookupError) as error:
        raise InputError(
            f"cannot be read: {error}", where=str(path), fix="give its encoding, for example cp950 or gb18030"
        ) from error


# ---- E-HowNet

_MEMBERS = re.compile(r"[\s,，、;；]+")
_POS = r"[A-Z][A-Za-z]*\d*"
_TAGS = re.compile(rf"[(（]\s*{_POS}(?:\s*[,，、/]\s*{_POS})*\s*[)）]|[._/]{_POS}(?=[\s,，、;；]|$)")
_BRANCH = re.compile(r"[\s│├└┬─┌|+`·-]*")
_NODE = re.compile(r"(?:\{([^{}\s:：=]+)\}|([^{}()\s:：,，|]+\|[^{}()\s:：,，]+))(?=$|[\s:：])[:：]?")
_DEFINITION = re.compile(r"(?:DEF\s*[=:]\s*)?\{\s*([^{}\s:：=]+)", re.I)


@dataclass(slots=True)
class _Tree:
    """Where the reading stands in a tree of categories: (depth, name, valence) of those open, the innermost last."""

    valences: Mapping[str, float]
    branches: list[tuple[int, str, float | None]] = field(default_factory=list)

    def enter(self, depth: int, category: str, valence: float | None) -> None:
        """Open a category below those of a smaller depth; without a valence of its own it has theirs."""
        while self.branches and self.branches[-1][0] >= depth:
            self.branches.pop()
        value = valence if valence is not None else find_valence(category, self.valences)
        above = self.branches[-1][2] if self.branches else None
        self.branches.append((depth, category, above if value is None else value))

    def members(self, line: int, cells: list[str]) -> Iterator[Entry]:
        """The words of some cells as entries of the innermost category."""
        _, category, valence = self.branches[-1] if self.branches else (0, "", None)
        reason = "" if valence is not None else "no-valence" if category else "no-category"
        for member in filter(None, (part for cell in cells for part in _MEMBERS.split(_TAGS.sub(" ", cell)))):
            yield Entry(line, member, category, valence, reason=reason, detail=category if reason else "")


def read_ehownet(text: str, path: Path, lexicon: Lexicon, options: Options) -> Iterator[Entry]:
    """The words of an E-HowNet file, whichever layout each line has."""
    tree = _Tree(options.valences)
    for line, row in numbered_lines(text):
        branch = _BRANCH.match(row)
        indent = branch.group() if branch else ""
        cells = [cell.strip() for cell in row[len(indent) :].split("\t") if cell.strip()]
        if not cells:
            continue
        node, definition = _NODE.match(cells[0]), _DEFINITION.match(cells[-1])
        if len(cells) > 1 and definition and not node:
            yield _define(line, _TAGS.sub("", cells[0]).strip(), definition[1], options.valences)
        elif node or len(cells) > 1:
            category = (node[1] or node[2]) if node else cells[0]
            value = as_number(cells[1]) if len(cells) > 1 else None
            members = [*([cells[0][node.end() :].strip()] if node else []), *cells[1 if value is None else 2 :]]
            tree.enter(len(indent.expandtabs(4)), re.sub(r"\s+", "_", category), _on_scale(value, options))
            if not any(members) and tree.branches[-1][2] is None and not indent:
                yield Entry(line, cells[0], reason="no-valence", detail="a category without a valence")
            yield from tree.members(line, members)
        else:
            yield from tree.members(line, cells)


def read_valences(path: Path, options: Options) -> dict[str, float]:
    """The file of `--valences`: `category TAB valence` lines. ResourceError with file:line for any other line."""
    valences: dict[str, float] = {}
    for number, row in numbered_lines(read_text(path, options.encoding)):
        cells = [cell.strip() for cell in row.split("\t")]
        value = _on_scale(as_number(cells[1]), options) if len(cells) == 2 else None
        if value is None and number == 1:
            continue  # a header
        if value is None or not 1 <= value <= 10:
            fix = "write a category, a tab, and its valence; --scale LOW,HIGH where that is not 1 to 10"
            raise ResourceError(f"{row!r} gives no category a valence", where=f"{path}:{number}", fix=fix)
        valences[cells[0].strip("{}")] = value
    return valences


def find_valence(category: str, valences: Mapping[str, float]) -> float | None:
    """The valence of `good|好` by that name, else by either half of it."""
    return next((valences[name] for name in (category, *category.split("|")) if name in valences), None)


def _define(line: int, word: str, category: str, valences: Mapping[str, float]) -> Entry:
    """A word of the dictionary, in the category that heads its definition."""
    valence = find_valence(category, valences)
    if valence is None:
        return Entry(line, word, reason="no-valence", detail=f"{category}; give it one with --valences")
    return Entry(line, word, category, valence)


def _on_scale(value: float | None, options: Options) -> float | None:
    return value if value is None or options.scale is None else rescaled(value, *options.scale)


# ---- The import

FindNouns = Callable[[Sequence[str]], list[list[str]]]
"""For each name the nouns that a segmenter finds in it."""
_DEFAULTS = Options()
PART_OF = 2
"""A noun is added as a part of names when it stands in so many of them: what stands in one may be a cut gone wrong."""

READERS: Mapping[str, Reader] = {
    "ehownet": read_ehownet,
    "valence-csv": read_valence_csv,
    "ntusd": read_ntusd,
    "dishes": read_dishes,
    "words": read_words,
}


def import_lexicon(
    path: Path, kind: str, lexicon: Lexicon, options: Options = _DEFAULTS, find_nouns: FindNouns | None = None
) -> Overlay:
    """Read `path` as `kind`. `lexicon` is the one in use: it knows the categories, and the words that it has are
    refused as `known`, unless `options` say to replace them. With `find_nouns` the parts of imported aspects are
    aspects too (paper, section 3.2.2).

    ConfigError for an unknown kind or an option that is missing, InputError for a file that is not of the kind at all.
    """
    if kind not in READERS:
        raise ConfigError(f"unknown kind of lexicon {kind!r}", fix=f"known: {', '.join(sorted(READERS))}")
    _check(options, lexicon)
    name = check_name(options.name or re.sub(r"\W+", "_", path.stem))
    shortest = options.shortest or (1 if kind in ("ehownet", "words") else 2)
    entries = _Gathered(name, lexicon, options, shortest)
    for entry in READERS[kind](read_text(path, options.encoding), path, lexicon, options):
        entries.add(entry)
    if find_nouns is not None:
        entries.add_parts(find_nouns)
    return entries.overlay()


def _check(options: Options, lexicon: Lexicon) -> None:
    """ConfigError for a class or category that the lexicon does not have."""
    for label, name, known in (
        ("aspect class", options.cls, lexicon.classes),
        ("opinion category", options.category, lexicon.categories),
    ):
        if name and name not in known:
            raise ConfigError(f"unknown {label} {name!r}", fix=f"known: {', '.join(sorted(known))}")
    if options.scale is not None and not options.scale[0] < options.scale[1]:
        raise ConfigError(f"the scale {options.scale} has no width", fix="give the lowest value, then the highest")


@dataclass(slots=True)
class _Gathered:
    """Entries while a file is read; the first line that has a word decides."""

    name: str
    lexicon: Lexicon
    options: Options
    shortest: int
    opinions: dict[str, tuple[str, float]] = field(default_factory=dict)
    aspects: dict[str, str] = field(default_factory=dict)
    general: dict[str, str] = field(default_factory=dict)
    categories: dict[str, tuple[float, str]] = field(default_factory=dict)
    refused: list[Refused] = field(default_factory=list)
    parts: int = 0

    def add(self, entry: Entry) -> None:
        """Take an entry, or keep why not."""
        word = self.lexicon.variants.canonical(as_viewed(entry.word))
        reason, detail = (entry.reason, entry.detail) if entry.reason else self._unfit(word, entry)
        if reason:
            self.refused.append(Refused(entry.line, entry.word, reason, detail))
        elif entry.cls:
            self.aspects[word] = entry.cls
        elif entry.pos:
            self.general[word] = entry.pos
        else:
            assert entry.valence is not None, f"an opinion without a valence: {entry}"
            category = self.options.category or self._category(entry.category, entry.valence)
            self.opinions[word] = category, self.lexicon.categories.get(category, entry.valence)

    def add_parts(self, find_nouns: FindNouns) -> None:
        """Add the nouns that several imported aspects share, unless some lexicon knows them as something."""
        names = list(self.aspects)
        counts: Counter[str] = Counter()
        classes: dict[str, str] = {}
        for name, nouns in zip(names, find_nouns(names), strict=True):
            counts.update(set(nouns) - {name})
            for noun in nouns:
                classes.setdefault(noun, self.aspects[name])
        for noun, count in sorted(counts.items()):
            if count >= PART_OF and noun not in self.aspects and not self._unfit_part(noun):
                self.aspects[noun] = classes[noun]
                self.parts += 1

    def _unfit_part(self, noun: str) -> bool:
        lexicon = self.lexicon
        known = (lexicon.opinions, lexicon.general, lexicon.not_aspects, lexicon.morphemes, lexicon.degree)
        marks = (lexicon.negators, lexicon.irrealis, lexicon.contrast, self.opinions, self.general)
        if not 2 <= len(noun) <= self.options.longest or not all(map(HAN.match, noun)):
            return True
        aspect = lexicon.aspects.get(noun)
        return any(noun in words for words in (*known, *marks)) or (aspect is not None and not self._own(aspect.where))

    def _category(self, category: str, valence: float) -> str:
        if self.lexicon.categories.get(category) == valence:
            return category
        self.categories.setdefault(own(self.name, category), (valence, f"from {self.name}"))
        return own(self.name, category)

    def _unfit(self, word: str, entry: Entry) -> tuple[str, str]:
        """Why a word is no entry, or two empty strings."""
        if not any(HAN.match(char) or char.isalpha() for char in word):
            return "no-word", ""
        if any(map(str.isspace, word)):
            return "whitespace", "the segmenter cannot keep it whole"
        if not self.shortest <= len(word) <= self.options.longest:
            return "length", f"{len(word)} characters; {self.shortest} to {self.options.longest} are taken"
        if entry.cls:
            return self._unfit_aspect(word)
        return self._unfit_general(word) if entry.pos else self._unfit_opinion(word, entry)

    def _unfit_aspect(self, word: str) -> tuple[str, str]:
        if word in self.aspects:
            return "duplicate", ""
        aspect = self.lexicon.aspects.get(word)
        if aspect and self._keeps(aspect.where):
            return "known", f"{aspect.cls} in {aspect.where}"
        return "", ""

    def _unfit_general(self, word: str) -> tuple[str, str]:
        if word in self.general:
            return "duplicate", f"listed before as {self.general[word]}"
        if self.options.keep_known:
            for words in (self.lexicon.opinions, self.lexicon.aspects):
                if word in words:
                    return "known", words[word].where
        return "", ""

    def _unfit_opinion(self, word: str, entry: Entry) -> tuple[str, str]:
        if entry.valence is None or not 1 <= entry.valence <= 10:
            return "valence", f"{entry.valence} is no valence from 1 to 10"
        if word in self.opinions:
            category, valence = self.opinions[word]
            reason = "contradiction" if (valence - 5) * (entry.valence - 5) < 0 else "duplicate"
            return reason, f"listed before as {category}"
        opinion = self.lexicon.opinions.get(word)
        if opinion and self._keeps(opinion.where):
            return "known", f"{opinion.category} ({opinion.valence:g}) in {opinion.where}"
        for marks in (self.lexicon.degree, self.lexicon.negators):
            if word in marks:
                return "function-word", f"{marks[word]} in our lexicon"
            for cut in range(1, len(word)):
                if word[:cut] in marks and word[cut:] in self.lexicon.opinions:
                    return "compositional", f"{word[:cut]} + {word[cut:]}"
        return "", ""

    def _keeps(self, where: str) -> bool:
        """Whether an entry of the lexicon in use wins; one that an earlier import of this name made does not."""
        return self.options.keep_known and not self._own(where)

    def _own(self, where: str) -> bool:
        """Whether an earlier import of this name brought an entry."""
        return f"/imported_{self.name}.tsv:" in where

    def overlay(self) -> Overlay:
        """What was gathered."""
        opinions = tuple((word, category) for word, (category, _) in self.opinions.items())
        categories = tuple((name, valence, gloss) for name, (valence, gloss) in self.categories.items())
        aspects, general = tuple(self.aspects.items()), tuple(self.general.items())
        return Overlay(self.name, opinions, aspects, categories, tuple(self.refused), general, self.parts)


def as_viewed(word: str) -> str:
    """A listed word as a review's view shows it; single Simplified characters that both scripts write stay."""
    return view(word.strip(), script=None if script_of(word) == "simplified" else "traditional").text.lower()
