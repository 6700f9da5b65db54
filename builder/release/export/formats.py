"""Other people's formats in one table: what each is called, writes, and refuses. From rows of ours, or a release, to
files, everything left out named.

A review is written with all its triplets or not at all: one that is missing would be read as "no opinion here". An
opinion that a format cannot hold stands in full (`opinion_full`); where that does not help, the review goes to
`.skipped.jsonl` with the reason, and is counted.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path

from builder.core.errors import ConfigError, did_you_mean
from builder.core.files import write_atomically
from builder.core.machine import uncollected
from builder.core.records import surface
from builder.release import shelf
from builder.release.export import annotation_tools, argilla, research, table
from builder.release.export.native_rows import (
    Labelled,
    Opinion,
    ReviewRow,
    Skipped,
    TripletLabel,
    continuous,
    label,
    labelled,
    row_of,
    untokenisable,
)
from builder.release.verify import naming_faults

_DEV = {"valid": "dev"}
"""What the readers of these formats open for the validation split."""
_DETAILS, _ID, _NOTHING = "all details", "the review's id", "neither details nor id"
"""What a format has room for beside places and polarities. Details: `REVIEW_DETAILS` and `TRIPLET_DETAILS`."""


def _nothing(_: object) -> None:
    return None


def _count_labels(review: Labelled) -> int:
    return len(review.labels)


def _count_triplets(review: Labelled) -> int:
    return len(row_of(review)["triplets"])


@dataclass(frozen=True, slots=True)
class Format:
    """`file` is the name of a split's file with {split}, which `called` may rename; `carries` says what it holds beside
    triplets. `text`, `label` and `review` say why something cannot be held, `count` how many labels a review has there.
    `beside`: files that the tool needs too, by name.
    """

    about: str
    file: str
    write: Callable[[Sequence[Labelled]], str | bytes]
    carries: str = _DETAILS
    text: Callable[[str], str | None] = _nothing
    label: Callable[[TripletLabel], str | None] = _nothing
    review: Callable[[Labelled], Skipped | None] = _nothing
    count: Callable[[Labelled], int] = _count_labels
    called: Mapping[str, str] = field(default_factory=dict)
    beside: Mapping[str, str] = field(default_factory=dict)

    def file_of(self, split: str) -> str:
        return self.file.format(split=self.called.get(split, split))


_spaced = partial(Format, text=untokenisable, label=continuous, called=_DEV)
"""Those of spaced tokens, which refuse the same."""
_table = partial(Format, count=_count_triplets)
_paper = partial(Format, file="{split}.json", carries=_ID, review=research.paper_refused_review, count=_count_triplets)
FORMATS: dict[str, Format] = {
    "aste-v2": _spaced("ASTE-Data-V2, every token index of a span", "{split}_triplets.txt", research.dump_v2, _NOTHING),
    "span-aste": _spaced("Span-ASTE, first and last token of a span", "{split}.txt", research.dump_span_aste, _NOTHING),
    "pyabsa": Format(
        "PyABSA, a line for each review with all its triplets",
        "{split}.dat.aste",
        research.dump_pyabsa,
        _NOTHING,
        research.pyabsa_refused_text,
        research.pyabsa_refused,
    ),
    "gts": _spaced("GTS, tags for each aspect and its opinions", "{split}.json", research.dump_gts),
    "semeval": Format("SemEval-2022 task 10, structured sentiment", "{split}.json", research.dump_semeval, called=_DEV),
    "label-studio": Format(
        "Label Studio tasks with predictions, and the labelling config that they need",
        "{split}.json",
        annotation_tools.label_studio,
        beside={"labelling-config.xml": annotation_tools.LABELLING_CONFIG},
    ),
    "doccano": Format("doccano, spans and relations", "{split}.jsonl", annotation_tools.doccano),
    "argilla": Format(
        "Argilla records with suggestions, and the settings of their dataset",
        "{split}.json",
        argilla.write_records,
        _ID,
        beside={"settings.json": argilla.SETTINGS},
    ),
    "csv": _table("a table, one triplet a row, with every value and offset", "{split}.csv", table.dump_csv),
    "xlsx": _table(
        "the same as a workbook for Excel and its like", "{split}.xlsx", table.dump_xlsx, review=table.oversized
    ),
    "paper": _paper("the format of Lu et al., questions naming the aspects", write=research.dump_paper),
    "paper-open": _paper("the same with open questions", write=partial(research.dump_paper, given=False)),
    "bio-chars": Format(
        "BIO of aspects over characters",
        "{split}.bio",
        research.dump_bio,
        _ID,
        untokenisable,
        review=research.bio_refused,
        count=research.count_aspects,
    ),
}
NAMES = tuple(FORMATS)


@dataclass(frozen=True, slots=True)
class Exported:
    """A file's content, what is in it, and what is not. `in_full`: labels whose opinion is the full phrase because the
    format cannot hold its core. `empty`: reviews without a triplet that are left out because that was asked for.
    """

    file: str
    content: str | bytes
    reviews: int
    labels: int
    skipped: tuple[Skipped, ...]
    in_full: int = 0
    empty: int = 0

    @property
    def payload(self) -> bytes:
        return self.content.encode() if isinstance(self.content, str) else self.content

    @property
    def lost(self) -> int:
        """The labels of the reviews that are skipped."""
        return sum(review.labels for review in self.skipped)


def _format(name: str) -> Format:
    if name not in FORMATS:
        raise ConfigError(f"unknown format {name!r}", fix=f"{did_you_mean(name, NAMES)}known: {', '.join(NAMES)}")
    return FORMATS[name]


def export(
    name: str, split: str, rows: Sequence[ReviewRow], opinion: Opinion = "opinion", without_empty: bool = False
) -> Exported:
    """The rows of a split in the format `name`, `without_empty` those with a triplet. ConfigError for a name that is
    not known.
    """
    form = _format(name)
    kept: list[Labelled] = []
    skipped: list[Skipped] = []
    in_full = empty = 0
    for number, row in enumerate(rows, start=1):
        if without_empty and not row["triplets"]:
            empty += 1
            continue
        review = labelled(row, opinion, number)
        fitted = _fit(form, review, opinion)
        if isinstance(fitted, Skipped):
            skipped.append(replace(fitted, labels=form.count(review)))
        else:
            kept.append(fitted)
            in_full += len(set(fitted.labels) - set(review.labels))
    written = sum(map(form.count, kept))
    return Exported(form.file_of(split), form.write(kept), len(kept), written, tuple(skipped), in_full, empty)


def _fit(form: Format, review: Labelled, opinion: Opinion) -> Labelled | Skipped:
    """The review, with labels in full where the format cannot hold their opinion's core; or what it cannot hold."""
    if reason := form.text(review.text):
        return Skipped(review.id, None, reason)
    if fault := form.review(review):
        return fault
    if not any(map(form.label, review.labels)):
        return review
    fitted: set[TripletLabel] = set()
    polarities: dict[object, str] = {}
    for triplet in row_of(review)["triplets"]:
        core = label(triplet, opinion)
        reason = form.label(core)
        chosen = label(triplet, "opinion_full") if reason else core
        if reason and form.label(chosen):
            return Skipped(review.id, core, reason)
        if polarities.setdefault((chosen.aspect, chosen.opinion), chosen.polarity) != chosen.polarity:
            return Skipped(review.id, core, "written in full, the opinion has two polarities")
        fitted.add(chosen)
    return replace(review, labels=tuple(sorted(fitted)))


def skipped_lines(skipped: Iterable[Skipped], texts: Mapping[str, str]) -> str:
    """`.skipped.jsonl`: the reviews that were left out, each with how many labels, the reason, and the first label at
    fault in words.

    `texts` by review id.
    """

    def line(review: Skipped) -> dict[str, object]:
        described: dict[str, object] = {"id": review.id, "labels": review.labels, "reason": review.reason}
        if review.label is None:
            return described
        text = texts[review.id]
        aspect, opinion = surface(text, review.label.aspect), surface(text, review.label.opinion)
        return described | {"aspect": aspect, "opinion": opinion, "polarity": review.label.polarity}

    return "".join(json.dumps(line(review), ensure_ascii=False) + "\n" for review in skipped)


# ---- A release in another format


def export_release(
    release: Path,
    name: str,
    to: Path,
    splits: Sequence[str] = (),
    opinion: Opinion = "opinion",
    without_empty: bool = False,
) -> list[Exported]:
    """Write the chosen splits (all if none is named); ConfigError for a split or format that is not known.

    Returns what was written, contents aside. An augmentation layer is written where it is named: train-synonym.
    `without_empty` leaves out reviews without a triplet, which readers of ASTE data refuse.
    """
    form = _format(name)
    source = shelf.opened(release)
    known = [*source.splits, *source.layers]
    if strange := [split for split in splits if split not in known]:
        raise ConfigError(f"no split {strange[0]!r}", where=str(release), fix=f"there are {', '.join(known)}")
    with uncollected():
        written = [_export(release, name, to, split, opinion, without_empty) for split in splits or source.splits]
    for beside, content in form.beside.items():
        write_atomically(to / beside, content.encode())
    return written


def _export(release: Path, name: str, to: Path, split: str, opinion: Opinion, without_empty: bool) -> Exported:
    reviews = list(shelf.rows(release, split))
    with naming_faults(release):
        made = export(name, split, reviews, opinion, without_empty)
    write_atomically(to / made.file, made.payload)
    aside = to / f"{made.file}.skipped.jsonl"
    if made.skipped:
        write_atomically(aside, skipped_lines(made.skipped, {row["id"]: row["text"] for row in reviews}).encode())
    else:
        aside.unlink(missing_ok=True)
    return replace(made, content="")  # one split in memory is enough
