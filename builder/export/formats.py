"""Other people's formats in one table: what each is called, writes, and refuses. From rows of ours to files, everything left out named.

`export` writes what a format can hold; a label or review that it cannot hold goes to `.skipped.jsonl` with the reason, and is counted.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace

from builder.errors import ConfigError
from builder.export import annotation_tools, aste, bio, gts, paper, semeval
from builder.export.labels import Label, Labelled, Opinion, Skipped, labelled, surface, untokenisable
from builder.export.records import ReviewRow
from builder.export.records import triplet as released
from builder.records import Span

Refused = Callable[[str], str | None]
Words = Callable[[Sequence[str]], list[Sequence[Span]]]
"""Texts -> the words that tile each."""


def _nothing(_: object) -> None:
    return None


@dataclass(frozen=True, slots=True)
class Format:
    """`file` is the name of a split's file with {split}; `read` its reader; `text` and `label` say why something cannot be held."""

    about: str
    file: str
    write: Callable[[Iterable[Labelled]], str]
    read: Callable[[str], list[Labelled]]
    text: Refused = _nothing
    label: Callable[[Label], str | None] = _nothing


FORMATS: dict[str, Format] = {
    "aste-v2": Format("ASTE-Data-V2, every token index of a span", "{split}_triplets.txt", aste.v2, aste.read_v2, aste.refused_text, aste.refused),
    "span-aste": Format("Span-ASTE, first and last token of a span", "{split}.txt", aste.span_aste, aste.read_span_aste, aste.refused_text, aste.refused),
    "pyabsa": Format("PyABSA, a line for each set of aspects that share all opinions", "{split}.dat.aste", aste.pyabsa, aste.read_pyabsa, aste.pyabsa_refused_text, aste.pyabsa_refused),
    "gts": Format("GTS, tags for each aspect and its opinions", "{split}.json", gts.dump, gts.read, aste.refused_text, aste.refused),
    "semeval": Format("SemEval-2022 task 10, structured sentiment", "{split}.json", semeval.dump, semeval.read),
    "label-studio": Format("Label Studio tasks with predictions", "{split}.json", annotation_tools.label_studio, annotation_tools.read_label_studio),
    "doccano": Format("doccano, spans and relations", "{split}.jsonl", annotation_tools.doccano, annotation_tools.read_doccano),
}  # fmt: skip
"""The formats of (aspect, opinion, polarity) with places."""
OTHERS: dict[str, tuple[str, str]] = {
    "paper": ("the format of Lu et al., questions naming the aspects", "{split}.json"),
    "paper-open": ("the same with open questions", "{split}.json"),
    "bio-chars": ("BIO of aspects over characters", "{split}.bio"),
    "bio-words": ("BIO of aspects over words of the embedded segmenter", "{split}.bio"),
}
"""Those that hold other things."""
NAMES = (*FORMATS, *OTHERS)


@dataclass(frozen=True, slots=True)
class Exported:
    """A file's content, what is in it, and what is not."""

    file: str
    content: str
    reviews: int
    labels: int
    skipped: tuple[Skipped, ...]


def export(name: str, split: str, rows: Sequence[ReviewRow], opinion: Opinion = "opinion", words: Words | None = None) -> Exported:
    """The rows of a split in the format `name`; `words` is needed for bio-words. ConfigError for a name that is not known."""
    if name in FORMATS:
        return _labels(FORMATS[name], split, [labelled(row, opinion) for row in rows])
    if name not in OTHERS:
        raise ConfigError(f"unknown format {name!r}", fix=f"known: {', '.join(NAMES)}")
    if name.startswith("paper"):
        return _paper(split, rows, given=name == "paper")
    return _bio(split, [labelled(row, opinion) for row in rows], words)


def _labels(form: Format, split: str, reviews: Iterable[Labelled]) -> Exported:
    kept: list[Labelled] = []
    skipped: list[Skipped] = []
    for review in reviews:
        if reason := form.text(review.text):
            skipped.append(Skipped(review.id, None, reason))
            continue
        refused = {label: reason for label in review.labels if (reason := form.label(label))}
        skipped += [Skipped(review.id, label, reason) for label, reason in refused.items()]
        kept.append(replace(review, labels=tuple(label for label in review.labels if label not in refused)))
    return Exported(form.file.format(split=split), form.write(kept), len(kept), sum(len(one.labels) for one in kept), tuple(skipped))


def _paper(split: str, rows: Sequence[ReviewRow], given: bool) -> Exported:
    lines: list[str] = []
    skipped: list[Skipped] = []
    kept = 0
    for number, row in enumerate(rows, start=1):
        sound = []
        for one in map(released, row["triplets"]):
            if reason := paper.refused(one):
                skipped.append(Skipped(row["id"], Label(one.aspect.spans, one.opinion.spans, one.polarity), reason))
            else:
                sound.append(one)
        kept += len(sound)
        lines.append(paper.line(number, row["text"], sound, given) + "\n")
    return Exported(OTHERS["paper"][1].format(split=split), "".join(lines), len(lines), kept, tuple(skipped))


def _bio(split: str, reviews: Sequence[Labelled], words: Words | None) -> Exported:
    """Counts aspects."""
    skipped = [Skipped(one.id, None, reason) for one in reviews if (reason := untokenisable(one.text))]
    out = {one.id for one in skipped}
    kept = [one for one in reviews if one.id not in out]
    tiled = words([one.text for one in kept]) if words else [bio.characters(one.text) for one in kept]
    told = [bio.aspects(one, tiles) for one, tiles in zip(kept, tiled, strict=True)]
    skipped += [one for _, those in told for one in those]
    content = bio.dump(zip(kept, tiled, strict=True))
    return Exported(OTHERS["bio-chars"][1].format(split=split), content, len(kept), sum(len(spans) for spans, _ in told), tuple(skipped))


def skipped_lines(skipped: Iterable[Skipped], texts: dict[str, str]) -> str:
    """`.skipped.jsonl`: what was refused, with its words, so that a person can find it. `texts` by review id."""

    def told(one: Skipped) -> dict[str, object]:
        if one.label is None:
            return {"id": one.id, "reason": one.reason}
        text = texts[one.id]
        return {
            "id": one.id, "aspect": surface(text, one.label.aspect), "opinion": surface(text, one.label.opinion),
            "polarity": one.label.polarity, "reason": one.reason,
        }  # fmt: skip

    return "".join(json.dumps(told(one), ensure_ascii=False) + "\n" for one in skipped)
