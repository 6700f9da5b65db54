"""The sheet of a new domain: what is proposed, for yes and no, and the lexicons that become of the answers.

In: proposals. Out: `candidates.csv` in the folder of the pack, the most valuable first, with a sentence each; and of
`lexicons/` what comes from the sheet, written anew: the words in `candidates.tsv`, and rows of the tables of classes
and categories. An unanswered proposal counts where its confidence is high enough.
"""

from __future__ import annotations

import csv
import io
import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, fields, replace
from difflib import get_close_matches
from pathlib import Path

from builder.core.errors import ResourceError
from builder.core.files import read_cells, read_text, write_atomically
from builder.core.records import POLARITIES
from builder.core.wording import counted
from builder.language.lexicon.overlay import save
from builder.language.lexicon.packs import CARD
from builder.language.lexicon.resources import Lexicon
from builder.language.lexicon.tsv_rows import ROLES, as_number
from builder.reviews.text import view

SHEET = "candidates.csv"
CONFIDENT = 0.5
"""An unanswered proposal of at least this confidence is taken."""
ANSWERS = {"yes": True, "y": True, "no": False, "n": False, "": None}
_CATEGORIES = {"POS": ("good", 7.5), "NEU": ("neutral", 5.0), "NEG": ("bad", 2.8)}
"""Polarity -> the category of a pack's opinions that have it, and its valence."""
_WORDS = "candidates.tsv"
"""The table of the words that are taken, in aspects/ and in opinions/."""
_GENERAL = ("generic", "overall")
_BEGINNINGS = {"part": "part", "attribute": "quality", "person": "staff", "price": "price"}
"""How a pack's class of a role begins, so that rules read it as they do the core's; others begin with the pack's name.
"""
_MARK = "induced from reviews"
"""How the gloss of a class or category begins that comes from the sheet."""
_MEMBERS = 3
"""So many words of a class stand in its gloss."""
_ALIKE = 0.85
"""From this likeness on, a new class may be a slip of a known one (place.rom)."""
_FIX = "keep the columns, and save as CSV"


@dataclass(frozen=True, slots=True)
class WrittenWords:
    """What `write_lexicons` wrote: so many aspects and opinions, and the classes that the pack adds, with roles."""

    aspects: int
    opinions: int
    classes: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class Proposal:
    """A word that may be an aspect or an opinion of a domain.

    `word`: as the reviews write it; `meaning`: a known class of an aspect, a role (`thing`, `part` …) or a new class
    that a person names; of an opinion its polarity; `evidence`: why it is proposed; `sentence`: where it stands;
    `answer`: yes, no or nothing; `role`: what a new class is to the rules. A row that a person adds needs kind, word
    and meaning.
    """

    kind: str
    word: str
    meaning: str
    confidence: float
    reviews: int
    evidence: str
    sentence: str
    answer: str = ""
    role: str = ""

    @property
    def value(self) -> float:
        """In how many reviews it may serve."""
        return self.reviews * self.confidence

    @property
    def is_taken(self) -> bool:
        """Whether the word goes into the lexicons."""
        answer = ANSWERS[self.answer.strip().lower()]
        return bool(answer) if answer is not None else self.confidence >= CONFIDENT and not self.is_neutral

    @property
    def is_stated(self) -> bool:
        """Whether a person said yes to it, or added it."""
        return ANSWERS[self.answer.strip().lower()] is True or (self.confidence == 1 and not self.evidence)

    @property
    def is_neutral(self) -> bool:
        """Whether it is an opinion that says neither praise nor blame."""
        return self.kind == "opinion" and self.meaning == "NEU"


COLUMNS = tuple(field.name for field in fields(Proposal))


def write_sheet(folder: Path, proposals: Sequence[Proposal]) -> Path:
    """Write the proposals, the most valuable first, with a byte-order mark so that spreadsheets read Chinese."""
    text = io.StringIO()
    writer = csv.DictWriter(text, COLUMNS, lineterminator="\n")
    writer.writeheader()
    for proposal in order_proposals(proposals):
        writer.writerow(asdict(proposal))
    path = folder / SHEET
    write_atomically(path, ("\ufeff" + text.getvalue()).encode())
    return path


def order_proposals(proposals: Iterable[Proposal]) -> list[Proposal]:
    """The most valuable first, every third an opinion as long as there are any."""
    ordered = sorted(proposals, key=lambda row: (-row.value, row.kind, row.word))
    aspects, opinions = ([row for row in ordered if row.kind == kind] for kind in ("aspect", "opinion"))
    places = [(2 * at + 1.5, row) for at, row in enumerate(opinions)] + [(at, row) for at, row in enumerate(aspects)]
    return [row for _, row in sorted(places, key=lambda place: place[0])]


def read_sheet(folder: Path) -> list[Proposal]:
    """The proposals of a sheet with their answers. ResourceError with file:line for a row that is broken."""
    path = folder / SHEET
    if not path.is_file():
        raise ResourceError("there is no such sheet", where=str(path), fix="make one with `builder words domain new`")
    (_, header), *rows = read_cells(path, ResourceError) or [(1, [])]
    if header != list(COLUMNS):
        raise ResourceError(
            f"the columns are {', '.join(header)}", where=f"{path}:1", fix=f"keep these: {', '.join(COLUMNS)}"
        )
    return [_read_row(row, f"{path}:{line}") for line, row in rows if any(row)]


def _read_row(row: Sequence[str], where: str) -> Proposal:
    if len(row) > len(COLUMNS):
        raise ResourceError(f"{len(row)} cells where {len(COLUMNS)} are due", where=where, fix=_FIX)
    cells = {name: row[i].strip() if i < len(row) else "" for i, name in enumerate(COLUMNS)}

    def refuse(column: str, fix: str) -> ResourceError:
        return ResourceError(f"{cells[column]!r} in the column {column}", where=where, fix=fix)

    if cells["kind"] not in ("aspect", "opinion"):
        raise refuse("kind", "write aspect or opinion")
    if not cells["word"] or not cells["word"].isprintable():
        raise refuse("word", "write the word on one line, or delete the row")
    is_aspect = cells["kind"] == "aspect"
    if is_aspect and not is_class_name(cells["meaning"]):
        raise refuse("meaning", "write a role such as thing or part, or a class: one word, such as place.room")
    if not is_aspect and cells["meaning"].upper() not in POLARITIES:
        raise refuse("meaning", "write the polarity of the opinion: POS, NEG or NEU")
    for column in ("confidence", "reviews"):
        if cells[column] and _read_number(cells[column]) is None:
            raise refuse(column, "leave it as it was; in a row of your own leave it empty")
    if cells["answer"].lower() not in ANSWERS:
        raise refuse("answer", "write yes or no or nothing")
    if cells["role"] and cells["role"] not in (ROLES if is_aspect else ()):
        raise refuse("role", f"for an aspect one of {', '.join(ROLES)}; for an opinion nothing")
    if not is_aspect:
        cells["meaning"] = cells["meaning"].upper()
    confidence, reviews = _read_number(cells["confidence"]), _read_number(cells["reviews"])
    numbers = {"confidence": 1.0 if confidence is None else confidence, "reviews": int(reviews or 0)}
    return Proposal(**{**cells, **numbers})  # type: ignore[arg-type]


def _read_number(cell: str) -> float | None:
    """A number, perhaps with a decimal comma; None for anything else."""
    number = as_number(cell.replace(",", "."))
    return number if number is not None and math.isfinite(number) else None


def is_class_name(name: str) -> bool:
    """Whether a class can be called so: one word."""
    return bool(name) and name.split() == [name]


def write_lexicons(folder: Path, name: str, proposals: Sequence[Proposal], core: Lexicon) -> WrittenWords:
    """Write the pack's lexicons from what is taken.

    Other tables of the pack, and other rows of its classes and categories, stay as they are.
    """
    taken = choose_taken(read_as_lexicon(row, name, core) for row in proposals)
    aspects = {row.word: row.meaning for row in taken if row.kind == "aspect"}
    polarities = {row.word: row.meaning for row in taken if row.kind == "opinion"}
    opinions = {word: f"{name}.{_CATEGORIES[polarity][0]}" for word, polarity in polarities.items()}
    lexicons = folder / "lexicons"
    valences = dict(_CATEGORIES[polarity] for polarity in polarities.values())
    roles = choose_roles(taken, core)
    members = {cls: [word for word, own in aspects.items() if own == cls][:_MEMBERS] for cls in aspects.values()}
    classes = [
        (cls, roles[cls], f"{_MARK}: {', '.join(members[cls])}") for cls in sorted(members.keys() - core.classes.keys())
    ]
    new = _merge(lexicons / "aspect_classes.tsv", "class\trole\tgloss", classes)
    rows = [(f"{name}.{category}", f"{valence:g}", _MARK) for category, valence in sorted(valences.items())]
    _merge(lexicons / "opinion_categories.tsv", "category\tvalence\tgloss", rows)
    save(lexicons / "aspects" / _WORDS, "word\tclass", sorted(aspects.items()))
    save(lexicons / "opinions" / _WORDS, "word\tcategory", sorted(opinions.items()))
    return WrittenWords(len(aspects), len(opinions), {cls: role for cls, role, _ in new})


def read_as_lexicon(proposal: Proposal, name: str, core: Lexicon) -> Proposal:
    """A proposal of the pack `name` with its word as lexicons write it, and in place of a role the pack's class of that
    role: part.hotel is read as the parts of the core are, hotel.thing is new.
    """
    word = view(proposal.word, core.variants).text.strip().lower()
    if proposal.kind != "aspect" or proposal.meaning not in ROLES:
        return replace(proposal, word=word)
    beginning = _BEGINNINGS.get(proposal.meaning)
    cls = f"{beginning}.{name}" if beginning else f"{name}.{proposal.meaning}"
    return replace(proposal, word=word, meaning=cls, role=proposal.meaning)


def choose_taken(proposals: Iterable[Proposal]) -> list[Proposal]:
    """What goes into the lexicons, a row a word: what a person stated before what nobody answered, then aspects.

    ResourceError where a person stated two things of a word.
    """
    chosen: dict[str, Proposal] = {}
    for row in proposals:
        other = chosen.get(row.word)
        if not row.is_taken:
            continue
        if other and other.is_stated and row.is_stated and (other.kind, other.meaning) != (row.kind, row.meaning):
            raise ResourceError(
                f"{row.word!r} is {other.kind} {other.meaning} and {row.kind} {row.meaning}",
                where=SHEET,
                fix="say no to one of the rows, or delete it",
            )
        if other is None or (row.is_stated, row.kind == "aspect") > (other.is_stated, other.kind == "aspect"):
            chosen[row.word] = row
    return list(chosen.values())


def _merge(path: Path, header: str, rows: Iterable[Sequence[str]]) -> list[Sequence[str]]:
    """Write rows of the sheet in place of its earlier ones; a person's row stays, and wins. The rows written."""
    lines = read_text(path, kind=ResourceError).splitlines()[1:] if path.is_file() else []
    kept = [line for line in lines if not line.rpartition("\t")[2].startswith(_MARK)]
    named = {line.partition("\t")[0] for line in kept}
    new = [row for row in rows if row[0] not in named]
    lines = [header, *kept, *("\t".join(row) for row in new)]
    write_atomically(path, "".join(f"{line}\n" for line in lines).encode())
    return new


def find_slips(proposals: Iterable[Proposal], core: Lexicon) -> dict[str, str]:
    """New class -> the known one that it may be a slip of, or one that more words of the sheet have."""
    words = Counter(row.meaning for row in choose_taken(proposals) if row.kind == "aspect")
    out = {}
    for cls in sorted(words.keys() - core.classes.keys() - set(ROLES)):
        known = [*core.classes, *(other for other, count in words.items() if count > words[cls])]
        if close := get_close_matches(cls, known, 1, _ALIKE):
            out[cls] = close[0]
    return out


def choose_roles(proposals: Iterable[Proposal], core: Lexicon) -> Mapping[str, str]:
    """Class -> its role: what most of its words say that were answered with yes, else most of the others. Where none
    says anything, the role of most classes of the core that begin alike (part.wheel); else `thing`.
    """
    votes: dict[str, Counter[str]] = {}
    for row in proposals:
        if row.kind == "aspect":
            answered = ANSWERS[row.answer.strip().lower()] is True
            weight = (10_000 if answered else 1) if row.role else 0
            votes.setdefault(row.meaning, Counter())[row.role or _role_by_name(row.meaning, core)] += weight
    return {cls: min(counts, key=lambda role: (-counts[role], role)) for cls, counts in votes.items()}


def _role_by_name(cls: str, core: Lexicon) -> str:
    """The role that most classes of such a beginning have in the core, words for things in general aside."""
    alike = [role for name, role in core.classes.items() if name.partition(".")[0] == cls.partition(".")[0]]
    roles = Counter(role for role in alike if role not in _GENERAL)
    return min(roles, key=lambda role: (-roles[role], role), default="thing")


def write_card(folder: Path, name: str, reviews: int, source: str) -> None:
    """Write a card to be filled in, where there is none."""
    if (folder / CARD).is_file():
        return
    text = (
        f"# Domain pack: {name}\n\n| | |\n|---|---|\n| licence | name yours |\n"
        f"| source | words that builder's model found in {counted(reviews, 'review')} of {source}, "
        f"answered in {SHEET} |\n| conventions | `natural` |\n"
        "| figures | fill in what `builder gold score` says |\n"
    )
    write_atomically(folder / CARD, text.encode())


def write_rules(folder: Path, name: str) -> None:
    """Write the rule by which names of the pack's classes go on at both ends (海景 雙人房), if there is none."""
    path = folder / "rules" / f"{name}.toml"
    if path.parent.is_dir():
        return
    path.parent.mkdir(parents=True)
    comment = f"# What {name} adds to the rules of this name in the core."
    write_atomically(path, f'{comment}\n\n[names]\nextends = true\ncomposed = ["{name}."]\n'.encode())
