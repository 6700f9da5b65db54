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
from builder.release import reading
from builder.release.export import annotation_tools, argilla, research, table
from builder.release.export.records import (
    Labelled,
    Opinion,
    ReviewRow,
    Skipped,
    TripletLabel,
    continuous,
    label,
    labelled,
    untokenisable,
)
from builder.release.export.records import triplet as released
from builder.release.verify import naming_faults

Refused = Callable[[str], str | None]


def _nothing(_: object) -> None:
    return None


_DEV = {"valid": "dev"}
"""What the readers of these formats open for the validation split."""


@dataclass(frozen=True, slots=True)
class Format:
    """`file` is the name of a split's file with {split}, which `called` may rename; `text` and
    `label` say why something cannot be held. `beside`: files that the tool needs too, by name.
    """

    about: str
    file: str
    write: Callable[[Iterable[Labelled]], str]
    text: Refused = _nothing
    label: Callable[[TripletLabel], str | None] = _nothing
    called: Mapping[str, str] = field(default_factory=dict)
    beside: Mapping[str, str] = field(default_factory=dict)

    def file_of(self, split: str) -> str:
        return self.file.format(split=self.called.get(split, split))


_spaced = partial(Format, text=untokenisable, label=continuous, called=_DEV)
"""Those of spaced tokens, which refuse the same."""
FORMATS: dict[str, Format] = {
    "aste-v2": _spaced("ASTE-Data-V2, every token index of a span", "{split}_triplets.txt", research.dump_v2),
    "span-aste": _spaced("Span-ASTE, first and last token of a span", "{split}.txt", research.dump_span_aste),
    "pyabsa": Format(
        "PyABSA, a line for each review with all its triplets",
        "{split}.dat.aste",
        research.dump_pyabsa,
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
        beside={"settings.json": argilla.SETTINGS},
    ),
}
"""The formats of (aspect, opinion, polarity) with places."""
OTHERS: dict[str, tuple[str, str]] = {
    "csv": ("a table, one triplet a row, with every value and offset", "{split}.csv"),
    "xlsx": ("the same as a workbook for Excel and its like", "{split}.xlsx"),
    "paper": ("the format of Lu et al., questions naming the aspects", "{split}.json"),
    "paper-open": ("the same with open questions", "{split}.json"),
    "bio-chars": ("BIO of aspects over characters", "{split}.bio"),
}
"""Those that hold other things."""
NAMES = (*FORMATS, *OTHERS)
_DETAILS, _ID, _NOTHING = "all details", "the review's id", "neither details nor id"
CARRIES: Mapping[str, str] = {
    **dict.fromkeys(("gts", "semeval", "label-studio", "doccano", "csv", "xlsx"), _DETAILS),
    **dict.fromkeys(("argilla", "paper", "paper-open", "bio-chars"), _ID),
    **dict.fromkeys(("aste-v2", "span-aste", "pyabsa"), _NOTHING),
}
"""What each format has room for beside places and polarities. Details: `REVIEW_DETAILS` and `TRIPLET_DETAILS`."""


@dataclass(frozen=True, slots=True)
class Exported:
    """A file's content (or `binary`, where it is no text), what is in it, and what is not. `in_full`: labels whose
    opinion is the full phrase because the format cannot hold its core. `empty`: reviews without a triplet that are left
    out because that was asked for.
    """

    file: str
    content: str
    reviews: int
    labels: int
    skipped: tuple[Skipped, ...]
    in_full: int = 0
    binary: bytes = b""
    empty: int = 0

    @property
    def payload(self) -> bytes:
        return self.binary or self.content.encode()


def _check_name(name: str) -> None:
    if name not in NAMES:
        raise ConfigError(f"unknown format {name!r}", fix=f"{did_you_mean(name, NAMES)}known: {', '.join(NAMES)}")


def export(
    name: str, split: str, rows: Sequence[ReviewRow], opinion: Opinion = "opinion", without_empty: bool = False
) -> Exported:
    """The rows of a split in the format `name`, `without_empty` those with a triplet. ConfigError for a name that is
    not known.
    """
    _check_name(name)
    numbered = {n: row for n, row in enumerate(rows, start=1) if row["triplets"] or not without_empty}
    kept = list(numbered.values())
    if name in FORMATS:
        made = _labels(FORMATS[name], split, kept, opinion)
    else:
        file = OTHERS[name][1].format(split=split)
        if name in ("csv", "xlsx"):
            made = _table(file, kept, binary=name == "xlsx")
        elif name.startswith("paper"):
            made = _paper(file, numbered, given=name == "paper")
        else:
            made = _bio(file, [labelled(row, opinion) for row in kept])
    return replace(made, empty=len(rows) - len(kept))


def _labels(form: Format, split: str, rows: Iterable[ReviewRow], opinion: Opinion) -> Exported:
    kept: list[Labelled] = []
    skipped: list[Skipped] = []
    in_full = 0
    for row in rows:
        review = labelled(row, opinion)
        if reason := form.text(row["text"]):
            skipped.append(Skipped(review.id, None, reason, len(review.labels)))
        elif not any(map(form.label, review.labels)):
            kept.append(review)
        else:
            fitted, fault = _fitted(form, row, opinion)
            if fault:
                skipped.append(replace(fault, labels=len(review.labels)))
            else:
                kept.append(replace(review, labels=tuple(sorted(set(fitted)))))
                in_full += len(set(fitted) - set(review.labels))
    written = sum(len(review.labels) for review in kept)
    return Exported(form.file_of(split), form.write(kept), len(kept), written, tuple(skipped), in_full)


def _fitted(form: Format, row: ReviewRow, opinion: Opinion) -> tuple[list[TripletLabel], Skipped | None]:
    """The labels of a review, in full where the format cannot hold their opinion's core; or the first that it cannot
    hold at all.
    """
    fitted: list[TripletLabel] = []
    polarities: dict[object, str] = {}
    for triplet in row["triplets"]:
        core = label(triplet, opinion)
        reason = form.label(core)
        chosen = label(triplet, "opinion_full") if reason else core
        if reason and form.label(chosen):
            return [], Skipped(row["id"], core, reason, 0)
        if polarities.setdefault((chosen.aspect, chosen.opinion), chosen.polarity) != chosen.polarity:
            return [], Skipped(row["id"], core, "written in full, the opinion has two polarities", 0)
        fitted.append(chosen)
    return fitted, None


def _table(file: str, rows: Sequence[ReviewRow], binary: bool) -> Exported:
    skipped = [
        Skipped(row["id"], None, reason, len(row["triplets"]))
        for row in rows
        if binary and (reason := table.oversized(row))
    ]
    out = {review.id for review in skipped}
    kept = [row for row in rows if row["id"] not in out]
    content, book = ("", table.dump_xlsx(kept)) if binary else (table.dump_csv(kept), b"")
    return Exported(file, content, len(kept), sum(len(row["triplets"]) for row in kept), tuple(skipped), binary=book)


def _paper(file: str, rows: Mapping[int, ReviewRow], given: bool) -> Exported:
    """A line keeps the number of its row, whatever is left out before it."""
    lines: list[str] = []
    skipped: list[Skipped] = []
    kept = 0
    for number, row in rows.items():
        triplets = [released(triplet) for triplet in row["triplets"]]
        refusals = ((triplet, reason) for triplet in triplets if (reason := research.paper_refused(triplet)))
        if refusal := next(refusals, None):
            triplet, reason = refusal
            fault = TripletLabel(triplet.aspect.spans, triplet.opinion.spans, triplet.polarity)
            skipped.append(Skipped(row["id"], fault, reason, len(triplets)))
        else:
            kept += len(triplets)
            lines.append(research.paper_line(number, row["text"], triplets, given, row["id"]) + "\n")
    return Exported(file, "".join(lines), len(lines), kept, tuple(skipped))


def _bio(file: str, reviews: Sequence[Labelled]) -> Exported:
    """Counts aspects."""
    skipped = [
        Skipped(review.id, None, reason, len(_aspects(review)))
        for review in reviews
        if (reason := untokenisable(review.text))
    ]
    out = {review.id for review in skipped}
    kept = []
    for review in (review for review in reviews if review.id not in out):
        _, refused = research.tagged_aspects(review)
        if refused:
            skipped.append(refused[0])
        else:
            kept.append(review)
    return Exported(
        file, research.dump_bio(kept), len(kept), sum(len(_aspects(review)) for review in kept), tuple(skipped)
    )


def _aspects(review: Labelled) -> set[object]:
    return {label.aspect for label in review.labels}


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


@dataclass(frozen=True, slots=True)
class Written:
    """A split in its new file."""

    split: str
    path: Path
    reviews: int
    labels: int
    in_full: int
    skipped: int
    """Reviews that the format cannot hold, with `lost` labels."""
    lost: int
    empty: int
    """Reviews without a triplet that are left out because that was asked for."""


def export_release(
    release: Path,
    name: str,
    to: Path,
    splits: Sequence[str] = (),
    opinion: Opinion = "opinion",
    without_empty: bool = False,
) -> list[Written]:
    """Write the chosen splits (all if none is named); ConfigError for a split or format that is not known.

    An augmentation layer is written where it is named: train-synonym. `without_empty` leaves out reviews without a
    triplet, which readers of ASTE data refuse.
    """
    _check_name(name)
    source = reading.opened(release)
    known = [*source.splits, *source.layers]
    if strange := [split for split in splits if split not in known]:
        raise ConfigError(f"no split {strange[0]!r}", where=str(release), fix=f"there are {', '.join(known)}")
    with uncollected():
        return [_export(release, name, to, split, opinion, without_empty) for split in splits or source.splits]


def _export(release: Path, name: str, to: Path, split: str, opinion: Opinion, without_empty: bool) -> Written:
    reviews = list(reading.rows(release, split))
    with naming_faults(release):
        made = export(name, split, reviews, opinion, without_empty)
    write_atomically(to / made.file, made.payload)
    for beside, content in FORMATS[name].beside.items() if name in FORMATS else ():
        write_atomically(to / beside, content.encode())
    aside = to / f"{made.file}.skipped.jsonl"
    if made.skipped:
        write_atomically(aside, skipped_lines(made.skipped, {row["id"]: row["text"] for row in reviews}).encode())
    else:
        aside.unlink(missing_ok=True)
    lost = sum(review.labels for review in made.skipped)
    return Written(split, to / made.file, made.reviews, made.labels, made.in_full, len(made.skipped), lost, made.empty)
