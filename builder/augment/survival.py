"""Label survival: of the triplets that an augmentation carried over, how many does somebody who knows nothing of it
still find?

The rule engine is always asked; with a working directory its last model and its discriminator as well. What they find
in the sources is reported beside it, for they do not find everything there either.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from builder.augment.constraints import Trial
from builder.augment.proposing import cached_reader
from builder.augment.records import Sentence, written
from builder.core.records import Span, Triplet
from builder.engine.reader import to_view
from builder.language.build_folders import folders_in
from builder.language.lexicon.folders import SHIPPED, Folders
from builder.pipeline.extraction import build_settings, open_system
from builder.reviews.text import view

Held = tuple[str, Sequence[Triplet]]
"""A text and the triplets that it is said to hold."""
Judge = Callable[[Sequence[Held]], list[list[bool]]]
"""For each text, whether each of its triplets is found."""
_BATCH = 512


def survival(pairs: Sequence[tuple[Held, Held]], judges: Mapping[str, Judge]) -> dict[str, object]:
    """`pairs`: (source, made) with the same triplets in the same order. By judge: shares of triplets found."""
    return {name: _shares(pairs, judge) for name, judge in judges.items()}


def _shares(pairs: Sequence[tuple[Held, Held]], judge: Judge) -> dict[str, float | None]:
    rows = _before_and_after(pairs, judge)
    flags = [both for row in rows for both in row]
    return {
        "found in the sources": _share([old for old, _ in flags]),
        "found in what was kept": _share([new for _, new in flags]),
        "of those found in the source": _share([new for old, new in flags if old]),
        "rows with all of those": _share([all(new for old, new in row if old) for row in rows]),
    }


def _before_and_after(pairs: Sequence[tuple[Held, Held]], judge: Judge) -> list[list[tuple[bool, bool]]]:
    """For each pair, whether each triplet is found in the source, and in what was made of it."""
    sources = {text: held for held, _ in pairs for text in [_key(held)]}
    before = dict(zip(sources, _judged(list(sources.values()), judge), strict=True))
    after = _judged([made for _, made in pairs], judge)
    return [list(zip(before[_key(held)], new, strict=True)) for (held, _), new in zip(pairs, after, strict=True)]


def label_lost(pairs: Sequence[tuple[Held, Held]], folders: Folders = SHIPPED) -> set[int]:
    """The indices of texts in which the rule engine, with words and rules of `folders`, no longer finds a triplet that
    it finds in their source.
    """
    rules = _finding(cached_reader(folders).extract)
    return {n for n, row in enumerate(_before_and_after(pairs, rules)) if any(old and not new for old, new in row)}


def unconfirmed(flipped: Sequence[Held], workdir: Path | None, device: str = "auto") -> set[int]:
    """The indices of texts of which the discriminator of a working directory (without one: the rule engine) does not
    find every triplet, with the polarity that a method gave it.
    """
    judge = _discriminator(workdir, device) if workdir else _rules(None)
    return {n for n, flags in enumerate(_judged(flipped, judge)) if not all(flags)}


def invented(pairs: Sequence[tuple[Sentence, Trial]], workdir: Path, device: str = "auto") -> set[int]:
    """The indices of candidates in which the model of a working directory finds an aspect that an edit wrote and
    nobody labelled.
    """
    model = open_system(workdir, device=device)
    predicted = [
        triplets
        for at in range(0, len(pairs), _BATCH)
        for triplets in model.extract([trial.text for _, trial in pairs[at : at + _BATCH]])
    ]
    out = set()
    for n, ((_, trial), triplets) in enumerate(zip(pairs, predicted, strict=True)):
        labelled = [(mark.start, mark.end) for mark in trial.marks if mark is not None]
        aspects = [triplet.aspect.spans for triplet in triplets]
        if any(_overlap(spans, written(trial.candidate.edits)) and not _overlap(spans, labelled) for spans in aspects):
            out.add(n)
    return out


def _key(held: Held) -> tuple[object, ...]:
    return held[0], *(triplet.key for triplet in held[1])


def _share(flags: Sequence[bool]) -> float | None:
    return round(sum(flags) / len(flags), 4) if flags else None


def _judged(texts: Sequence[Held], judge: Judge) -> list[list[bool]]:
    return [flags for at in range(0, len(texts), _BATCH) for flags in judge(texts[at : at + _BATCH])]


def judges(workdir: Path | None, device: str = "auto") -> dict[str, Judge]:
    """The rule engine, and what a working directory has trained: models that find, discriminators that judge. They
    run on `device`; `auto` is that of the build.
    """
    by_name: dict[str, Judge] = {"rules": _rules(workdir)}
    if workdir is not None:
        model = open_system(workdir, device=device)
        by_name[f"model {model.name}"] = _finding(model.extract)
        by_name["discriminator"] = _discriminator(workdir, device)
    return by_name


def _rules(workdir: Path | None) -> Judge:
    return _finding(cached_reader(folders_in(workdir)).extract)


def _finding(extract: Callable[[Sequence[str]], list[tuple[Triplet, ...]]]) -> Judge:
    """The judge that looks for triplets among those that `extract` finds in the texts."""

    def finds(texts: Sequence[Held]) -> list[list[bool]]:
        extracted = extract([text for text, _ in texts])
        return [_flag_found(held, triplets) for held, triplets in zip(texts, extracted, strict=True)]

    return finds


def _discriminator(workdir: Path, device: str) -> Judge:
    """Whether the verdict is YY. A triplet that the view cannot show is not found."""
    from builder.learning.task import Example
    from builder.models.kinds import load_judge
    from builder.models.panel import load_panel

    models = workdir / "models"
    chosen = device if device != "auto" else build_settings(workdir).device
    judge = (
        load_panel(models / "panel", chosen)
        if (models / "panel" / "panel.json").is_file()
        else load_judge(models / "discriminator", chosen)
    )
    lexicon = folders_in(workdir).load_lexicon()

    def finds(texts: Sequence[Held]) -> list[list[bool]]:
        shown = [view(text, lexicon.variants) for text, _ in texts]
        moved = [
            [to_view(triplet, shown_text) for triplet in triplets]
            for (_, triplets), shown_text in zip(texts, shown, strict=True)
        ]
        asked = [
            Example("", shown_text.text, tuple(t for t in triplets if t))
            for shown_text, triplets in zip(shown, moved, strict=True)
        ]
        verdicts = judge.classify(asked)
        return [_flags(triplets, iter(labels)) for triplets, labels in zip(moved, verdicts, strict=True)]

    return finds


def _flags(triplets: Sequence[Triplet | None], labels: object) -> list[bool]:
    return [triplet is not None and next(labels)[0] == "YY" for triplet in triplets]  # type: ignore[call-overload]


def _flag_found(held: Held, candidates: Sequence[Triplet]) -> list[bool]:
    """Whether each triplet is among the candidates: both spans overlap, the polarity is the same."""
    return [
        any(
            triplet.polarity == other.polarity
            and _overlap(triplet.aspect.spans, other.aspect.spans)
            and _overlap(triplet.opinion_full.spans, other.opinion_full.spans)
            for other in candidates
        )
        for triplet in held[1]
    ]


def _overlap(first: Sequence[Span], second: Sequence[Span]) -> bool:
    return any(a < d and c < b for a, b in first for c, d in second)
