"""`builder lexicon import`: lexicons in the formats that people hold become an overlay in our format.

In: a file and its kind. Out: `Overlay` with entries, the categories they need, and every line that was refused, with
its reason. Words are written as the view shows them: Traditional, width folded.

| kind | one line is | becomes |
|---|---|---|
| `ehownet` | `{category} TAB valence TAB members`, or `category TAB valence` followed by lines of members | opinions, a category each |
| `valence-csv` | a row with columns Word or Phrase and Valence_Mean, tab or comma (CVAW, CVAP) | opinions by valence, one decimal |
| `ntusd` | a word, or words parted by commas; positive or negative is an option or stands in the file's name | opinions, 7 or 3 |
| `dishes` | a dish, or a table whose first column is one | aspects, food.dish unless said otherwise |
| `words` | `word TAB category` or `word TAB class` of the loaded lexicon | opinions or aspects |

Members of E-HowNet categories are parted by spaces, commas or 、 and may carry a tag: 高興(VH21), 高興.VH, 高興_VH.
"""

from __future__ import annotations

import csv
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from builder.errors import ConfigError, InputError
from builder.lexicon.overlay import Overlay, Refused, check_name, own
from builder.lexicon.resources import Lexicon
from builder.text import HAN, script_of, view

POSITIVE, NEGATIVE = 7.0, 3.0
_MEMBERS = re.compile(r"[\s,，、;；]+")
_TAG = re.compile(r"(?:[(（][A-Za-z]+\d*[)）]|[._/][A-Z][A-Za-z]*\d*)$")
_HEADERS = frozenset(["word", "words", "name", "dish", "title", "詞", "詞彙", "菜名", "名稱"])
_WORD_COLUMNS, _VALENCE_COLUMNS = ("word", "phrase"), ("valence_mean", "valence")


@dataclass(frozen=True, slots=True)
class Options:
    """What an import may be told. Empty or None where the format's own default applies.

    `polarity` is for ntusd; `cls` the class of dishes; `scale` the lowest and highest valence of the file; `neutral`
    how far from the scale's middle a valence is no opinion; `shortest` and `longest` words taken, in characters;
    `encoding` where it is not UTF-8.
    """

    name: str = ""
    polarity: str = ""
    cls: str = "food.dish"
    scale: tuple[float, float] | None = None
    neutral: float = 0.5
    shortest: int | None = None
    longest: int = 12
    keep_known: bool = True
    encoding: str = ""


@dataclass(frozen=True, slots=True)
class _Entry:
    """A line as a format reads it: an opinion with its category and valence, an aspect with its class, or a refusal."""

    line: int
    word: str
    category: str = ""
    valence: float | None = None
    cls: str = ""
    reason: str = ""
    detail: str = ""


Reader = Callable[[str, Path, Lexicon, Options], Iterator[_Entry]]


def import_lexicon(path: Path, kind: str, lexicon: Lexicon, options: Options = Options()) -> Overlay:
    """Read `path` as `kind`. `lexicon` is the one in use: it knows the categories, and the words that it has are
    refused as `known`.

    ConfigError for an unknown kind or an option that is missing, InputError for a file that is not of the kind at all.
    """
    if kind not in READERS:
        raise ConfigError(f"unknown kind of lexicon {kind!r}", fix=f"known: {', '.join(sorted(READERS))}")
    name = check_name(options.name or re.sub(r"\W+", "_", path.stem))
    gathered = _Gathered(name, lexicon, options, options.shortest or (1 if kind in ("ehownet", "words") else 2))
    for entry in READERS[kind](_text(path, options.encoding), path, lexicon, options):
        gathered.add(entry)
    return gathered.overlay()


@dataclass(slots=True)
class _Gathered:
    """Entries while a file is read; the first line that has a word decides."""

    name: str
    lexicon: Lexicon
    options: Options
    shortest: int
    opinions: dict[str, tuple[str, float]] = field(default_factory=dict)
    aspects: dict[str, str] = field(default_factory=dict)
    categories: dict[str, tuple[float, str]] = field(default_factory=dict)
    refused: list[Refused] = field(default_factory=list)

    def add(self, entry: _Entry) -> None:
        word = self.lexicon.variants.canonical(as_viewed(entry.word))
        reason, detail = (entry.reason, entry.detail) if entry.reason else self._unfit(word, entry)
        if reason:
            self.refused.append(Refused(entry.line, entry.word, reason, detail))
        elif entry.cls:
            self.aspects[word] = entry.cls
        else:
            assert entry.valence is not None, f"an opinion without a valence: {entry}"
            category = self._category(entry.category, entry.valence)
            self.opinions[word] = category, entry.valence

    def _category(self, category: str, valence: float) -> str:
        if self.lexicon.categories.get(category) == valence:
            return category
        self.categories.setdefault(own(self.name, category), (valence, f"from {self.name}"))
        return own(self.name, category)

    def _unfit(self, word: str, entry: _Entry) -> tuple[str, str]:
        """Why a word is no entry, or two empty strings."""
        if not any(HAN.match(char) or char.isalpha() for char in word):
            return "no-word", ""
        if any(map(str.isspace, word)):
            return "whitespace", "the segmenter cannot keep it whole"
        if not self.shortest <= len(word) <= self.options.longest:
            return "length", f"{len(word)} characters; {self.shortest} to {self.options.longest} are taken"
        if entry.cls:
            if word in self.aspects:
                return "duplicate", ""
            entry_known = self.lexicon.aspects.get(word)
            return ("known", entry_known.cls) if entry_known and self._keeps(entry_known.where) else ("", "")
        return self._unfit_opinion(word, entry)

    def _unfit_opinion(self, word: str, entry: _Entry) -> tuple[str, str]:
        if entry.valence is None or not 1 <= entry.valence <= 10:
            return "valence", f"{entry.valence} is no valence from 1 to 10"
        if word in self.opinions:
            category, valence = self.opinions[word]
            return (
                "contradiction" if (valence - 5) * (entry.valence - 5) < 0 else "duplicate"
            ), f"listed before as {category}"
        known = self.lexicon.opinions.get(word)
        if known and self._keeps(known.where):
            return "known", known.category
        for marks in (self.lexicon.degree, self.lexicon.negators):
            if word in marks:
                return "function-word", f"{marks[word]} in our lexicon"
            for cut in range(1, len(word)):
                if word[:cut] in marks and word[cut:] in self.lexicon.opinions:
                    return "compositional", f"{word[:cut]} + {word[cut:]}"
        return "", ""

    def _keeps(self, where: str) -> bool:
        """Whether an entry of the lexicon in use wins over the file; one that an earlier import of this name made
        does not.
        """
        return self.options.keep_known and f"/imported_{self.name}.tsv:" not in where

    def overlay(self) -> Overlay:
        opinions = tuple((word, category) for word, (category, _) in self.opinions.items())
        categories = tuple((name, valence, gloss) for name, (valence, gloss) in self.categories.items())
        return Overlay(self.name, opinions, tuple(self.aspects.items()), categories, tuple(self.refused))


def as_viewed(word: str) -> str:
    """A listed word as the view of a review would show it; single Simplified characters that both scripts write stay."""
    return view(word.strip(), script=None if script_of(word) == "simplified" else "traditional").text.lower()


def rescaled(value: float, low: float, high: float) -> float:
    """A valence of a scale low..high on ours, 1..10, half by half so that its middle is our neutral 5 (of 1..9: 5 is
    5, 9 is 10).
    """
    middle = (low + high) / 2
    return 1 + 4 * (value - low) / (middle - low) if value <= middle else 5 + 5 * (value - middle) / (high - middle)


def _ehownet(text: str, path: Path, lexicon: Lexicon, options: Options) -> Iterator[_Entry]:
    low, high = options.scale or (1.0, 10.0)
    category, valence, refusal = "", None, "no-category"
    for line, row in _lines(text):
        cells = [cell.strip() for cell in row.split("\t") if cell.strip()]
        members = cells
        if len(cells) > 1 or cells[0].startswith("{"):
            value = _number(cells[1]) if len(cells) > 1 else None
            category = _slug(cells[0])
            valence = None if value is None else (value if options.scale is None else rescaled(value, low, high))
            refusal = "no-valence" if value is None else ""
            members = cells[2:] if value is not None else cells[1:]
            if not members and refusal:
                yield _Entry(line, cells[0], reason=refusal, detail="a category without a valence")
        for member in filter(None, (part for cell in members for part in _MEMBERS.split(cell))):
            yield _Entry(
                line, _TAG.sub("", member), category, valence, reason=refusal, detail=category if refusal else ""
            )


def _valence_csv(text: str, path: Path, lexicon: Lexicon, options: Options) -> Iterator[_Entry]:
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
        number = _number(cells[value]) if len(cells) > max(word, value) else None
        if number is None or not low <= number <= high:
            yield _Entry(
                line,
                cells[word] if len(cells) > word else "",
                reason="valence",
                detail=f"no number from {low:g} to {high:g}",
            )
        elif abs(number - (low + high) / 2) < options.neutral:
            yield _Entry(line, cells[word], reason="neutral", detail=f"{number:g}")
        else:
            ours = round(rescaled(number, low, high), 1)
            yield _Entry(line, cells[word], f"valence_{ours:.1f}", ours)


def _ntusd(text: str, path: Path, lexicon: Lexicon, options: Options) -> Iterator[_Entry]:
    named = {word for word in ("positive", "negative") if word in path.stem.lower()}
    polarity = options.polarity or (named.pop() if len(named) == 1 else "")
    if polarity not in ("positive", "negative"):
        raise ConfigError(
            "an NTUSD list does not say whether its words are positive or negative",
            where=str(path),
            fix="give the polarity, positive or negative",
        )
    for line, row in _lines(text):
        for word in re.split(r"[,，]", row):
            yield _Entry(line, word.strip(), polarity, POSITIVE if polarity == "positive" else NEGATIVE)


def _dishes(text: str, path: Path, lexicon: Lexicon, options: Options) -> Iterator[_Entry]:
    if not any(entry == options.cls for entry in _classes(lexicon)):
        raise ConfigError(f"unknown aspect class {options.cls!r}", fix=f"known: {', '.join(sorted(_classes(lexicon)))}")
    for line, row in _lines(text):
        word = row.split("\t")[0].strip()
        if line == 1 and word.lower() in _HEADERS:
            yield _Entry(line, word, reason="header")
        else:
            yield _Entry(line, word, cls=options.cls)


def _words(text: str, path: Path, lexicon: Lexicon, options: Options) -> Iterator[_Entry]:
    classes = _classes(lexicon)
    for line, row in _lines(text):
        cells = [cell.strip() for cell in row.split("\t")]
        if len(cells) != 2:
            yield _Entry(line, cells[0], reason="cells", detail=f"{len(cells)} cells where 2 are due")
        elif line == 1 and cells[0].lower() in _HEADERS:
            yield _Entry(line, cells[0], reason="header")
        elif cells[1] in lexicon.categories:
            yield _Entry(line, cells[0], cells[1], lexicon.categories[cells[1]])
        elif cells[1] in classes:
            yield _Entry(line, cells[0], cls=cells[1])
        else:
            yield _Entry(
                line, cells[0], reason="unknown-kind", detail=f"{cells[1]!r} is neither a category nor a class"
            )


READERS: Mapping[str, Reader] = {
    "ehownet": _ehownet,
    "valence-csv": _valence_csv,
    "ntusd": _ntusd,
    "dishes": _dishes,
    "words": _words,
}


def _classes(lexicon: Lexicon) -> set[str]:
    return {entry.cls for entry in lexicon.aspects.values()}


def _lines(text: str) -> Iterator[tuple[int, str]]:
    """Numbered lines without blank ones and comments."""
    for number, line in enumerate(text.splitlines(), start=1):
        if line.strip() and not line.startswith("#"):
            yield number, line


def _text(path: Path, encoding: str) -> str:
    """The file's text: as told, else by its byte order mark, else UTF-8. Never guessed: Big5 and GBK look alike."""
    try:
        raw = path.read_bytes()
        marked = "utf-16" if raw[:2] in (b"\xff\xfe", b"\xfe\xff") else "utf-8-sig"
        return raw.decode(encoding or marked)
    except (OSError, UnicodeDecodeError, LookupError) as error:
        raise InputError(
            f"cannot be read: {error}", where=str(path), fix="give its encoding, for example cp950 or gb18030"
        ) from error


def _number(cell: str) -> float | None:
    try:
        return float(cell)
    except ValueError:
        return None


def _slug(category: str) -> str:
    """A category's name without braces and spaces: {joyful|喜悅} is joyful|喜悅."""
    return re.sub(r"\s+", "_", category.strip("{}[] "))
