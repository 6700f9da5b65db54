"""The sheet of a new domain: what induction proposes, for yes and no, and the lexicons that become of the answers.

In: proposals. Out: `candidates.csv` in the folder of the pack, the most valuable first, with a sentence each; and
`lexicons/`, written anew from the sheet. An unanswered proposal counts where its confidence is high enough.
"""

from __future__ import annotations

import csv
import io
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, fields
from pathlib import Path

from builder.errors import ResourceError
from builder.files import write_atomically
from builder.lexicon.candidate_files import ANSWERS
from builder.lexicon.overlay import save
from builder.lexicon.packs import CARD
from builder.lexicon.resources import Lexicon
from builder.lexicon.tsv_rows import ROLES
from builder.wording import counted

SHEET = "candidates.csv"
CONFIDENT = 0.5
"""An unanswered proposal of at least this confidence is taken."""
_CLEAR = 0.5
"""How far from 5 the valence of an opinion is that says something; of others it says nothing, or is neutral."""
_FIX = "change only the columns answer, meaning and role"


@dataclass(frozen=True, slots=True)
class Proposal:
    """A word that may be an aspect or an opinion of a domain.

    `meaning`: the class of an aspect, the valence (1 to 10) of an opinion; `evidence`: why it is proposed; `sentence`:
    where it stands; `answer`: yes, no or nothing; `role`: what the class of an aspect is to the rules.
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
        """What an answer is worth: how often the word is used, and how little is known about it."""
        return self.reviews * (1 - abs(2 * self.confidence - 1) / 2)

    @property
    def is_taken(self) -> bool:
        """Whether the word goes into the lexicons."""
        answer = ANSWERS[self.answer.strip().lower()]
        return bool(answer) if answer is not None else self.confidence >= CONFIDENT and not self.is_neutral

    @property
    def is_neutral(self) -> bool:
        """Whether it is an opinion whose valence says neither praise nor blame."""
        return self.kind == "opinion" and abs(float(self.meaning) - 5) < _CLEAR


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
    """The most valuable first."""
    return sorted(proposals, key=lambda row: (-row.value, row.kind, row.word))


def read_sheet(folder: Path) -> list[Proposal]:
    """The proposals of a sheet with their answers. ResourceError with file:line for a row that is broken."""
    path = folder / SHEET
    if not path.is_file():
        raise ResourceError("no sheet is here", where=str(path), fix="make one with `builder domain new`")
    try:
        text = path.read_text(encoding="utf-8-sig")
    except UnicodeDecodeError as error:
        raise ResourceError("is not UTF-8", where=str(path), fix="save the sheet as CSV UTF-8") from error
    with io.StringIO(text, newline="") as file:
        rows = csv.DictReader(file)
        if tuple(rows.fieldnames or ()) != COLUMNS:
            raise ResourceError("this is no sheet of a domain", where=f"{path}:1", fix=_FIX)
        return [_read_row(row, f"{path}:{number}") for number, row in enumerate(rows, start=2)]


def _read_row(row: dict[str, str], where: str) -> Proposal:
    try:
        proposal = Proposal(**{**row, "confidence": float(row["confidence"]), "reviews": int(row["reviews"])})  # type: ignore[arg-type]
        valid = proposal.kind in ("aspect", "opinion") and bool(proposal.word) and bool(proposal.meaning)
        valid = valid and (proposal.kind == "aspect" or 1 <= float(proposal.meaning) <= 10)
    except (TypeError, ValueError):
        valid = False
    if not valid:
        raise ResourceError(f"a row of {row.get('kind')!r} {row.get('word')!r} is broken", where=where, fix=_FIX)
    if proposal.answer.strip().lower() not in ANSWERS:
        raise ResourceError(f"{proposal.answer!r} in the column answer", where=where, fix="write yes or no or nothing")
    if proposal.role not in (ROLES if proposal.kind == "aspect" else ("",)):
        fix = f"for an aspect one of {', '.join(ROLES)}; for an opinion nothing"
        raise ResourceError(f"{proposal.role!r} in the column role", where=where, fix=fix)
    return proposal


def write_lexicons(folder: Path, name: str, proposals: Sequence[Proposal], core: Lexicon) -> tuple[int, int]:
    """Write the pack's lexicons from what is taken; how many aspects and opinions these are."""
    taken = [proposal for proposal in proposals if proposal.is_taken]
    aspects = {row.word: row.meaning for row in taken if row.kind == "aspect"}
    valences = {row.word: float(row.meaning) for row in taken if row.kind == "opinion" and row.word not in aspects}
    categories = {word: f"{name}.{_level(value)}" for word, value in valences.items()}
    lexicons = folder / "lexicons"
    levels = {f"{name}.{_level(value)}": _level_valence(value) for value in valences.values()}
    roles = choose_roles(taken)
    new = sorted(set(aspects.values()) - core.classes.keys())
    save(lexicons / "aspect_classes.tsv", "class\trole\tgloss", [(cls, roles[cls], f"words like {cls}") for cls in new])
    rows = [(cls, f"{value:g}", "induced from reviews") for cls, value in sorted(levels.items())]
    save(lexicons / "opinion_categories.tsv", "category\tvalence\tgloss", rows)
    save(lexicons / "aspects" / f"{name}.tsv", "word\tclass", sorted(aspects.items()))
    save(lexicons / "opinions" / f"{name}.tsv", "word\tcategory", sorted(categories.items()))
    return len(aspects), len(valences)


def choose_roles(proposals: Iterable[Proposal]) -> Mapping[str, str]:
    """Class -> its role: what most of its words say that were answered with yes, else most of the others."""
    votes: dict[str, Counter[str]] = {}
    for row in proposals:
        if row.kind == "aspect":
            answered = ANSWERS[row.answer.strip().lower()] is True
            votes.setdefault(row.meaning, Counter())[row.role] += 10_000 if answered else 1
    return {cls: min(counts, key=lambda role: (-counts[role], role)) for cls, counts in votes.items()}


def write_card(folder: Path, name: str, reviews: int, source: str) -> None:
    """Write a card to be filled in, where there is none."""
    if (folder / CARD).is_file():
        return
    text = (
        f"# Domain pack: {name}\n\n| | |\n|---|---|\n| licence | name yours |\n"
        f"| source | words induced from {counted(reviews, 'review')} of {source} by builder, "
        f"answered in {SHEET} |\n| conventions | `natural` |\n"
        "| figures | fill in what `builder score` says |\n"
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


def _level(value: float) -> str:
    if abs(value - 5) < _CLEAR:
        return "neutral"
    return "great" if value >= 8.5 else "good" if value > 5 else "bad"


def _level_valence(value: float) -> float:
    return {"great": 8.8, "good": 7.5, "neutral": 5.0, "bad": 2.8}[_level(value)]
