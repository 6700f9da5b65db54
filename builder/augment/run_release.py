"""A release goes in, a child release comes out, with an augmentation layer beside its train split.

Sentences are cut into words, a method proposes, constraints judge, measures are taken, the child is packed, verified
and renamed into place. Words and proposals are kept in chunks under the working directory, by what they depend on: a
run that was stopped goes on, and a release that is made again replays. Every sentence draws by its own seed, so that
order and workers change nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from builder.augment import child_release, proposing
from builder.augment.child_release import TRAIN, AugmentPlan, ChildRelease, describe_layer, write_rejected
from builder.augment.run import (
    Judgement,
    Rejected,
    Request,
    Seen,
    count_reasons,
    draw_places,
    judge_proposals,
    load_method,
    lost,
)
from builder.augment.settings import METHODS, Given, check_method
from builder.augment.survival import Held, check, invented, judges, label_lost, measures, survival, unconfirmed
from builder.augment.views import ViewUnit, layer_row, parts, units
from builder.core import shards
from builder.core.errors import ConfigError, ReleaseError
from builder.core.machine import uncollected
from builder.core.records import Triplet
from builder.core.shards import Crew
from builder.core.wording import counted
from builder.language.lexicon.folders import folders_in
from builder.release import layers
from builder.release.export.records import ReviewRow, triplet
from builder.release.gates import unmasked
from builder.release.layers import LayerRow
from builder.release.reading import Existing, opened, rows
from builder.release.verify import verify
from builder.reviews.near_duplicates import among, clusters, disputed, links, normal

Tell = Callable[[str], None]


def augment_release(plan: AugmentPlan, tell: Tell = lambda line: None) -> ChildRelease:
    """Augment a release. ReleaseError if it does not verify, ConfigError for what cannot be asked for."""
    check_method(plan.method)
    check()
    parent = _checked(plan)
    with uncollected(), shards.opened(plan.engine, plan.workers, plan.scheduler) as crew:
        return _run(plan, parent, crew, tell)


def _checked(plan: AugmentPlan) -> Existing:
    """The parent, sound, with a train split that can be augmented and no layer of this name."""
    parent = opened(plan.release)
    if TRAIN not in parent.splits:
        raise ConfigError(
            f"no split {TRAIN!r}, which alone can be augmented", where=str(plan.release), fix="choose another release"
        )
    taken = (*layers.RESERVED, *parent.manifest.get("augmentations", {}))
    if not layers.NAME.fullmatch(plan.named) or plan.named in taken:
        what = "is taken" if plan.named in taken else "is no name for a layer"
        raise ConfigError(
            f"{plan.named!r} {what}", where="--layer", fix="choose another one: small letters, digits and hyphens"
        )
    if plan.view == "triplets" and plan.keep == "aspect":
        raise ConfigError(
            "triplets need their opinions", where="--keep", fix="use --keep aspect+opinion, or --view ate"
        )
    if faults := verify(plan.release):
        raise ReleaseError(
            f"the release is not sound: {faults[0]}", where=str(plan.release), fix="`builder verify` lists all faults"
        )
    return parent


def _run(plan: AugmentPlan, parent: Existing, crew: Crew, tell: Tell) -> ChildRelease:
    source = list(rows(plan.release, TRAIN))
    held = [row for split in parent.splits if split != TRAIN for row in rows(plan.release, split)]
    chosen, skipped = _sentences(plan, source, held)
    tell(f"words: {counted(len(chosen), 'sentence')}")
    chosen = proposing.worded(chosen, plan.workdir, crew)
    given = Given(
        plan.workdir / "models" / "augment",
        tuple(unit.sentence for unit in chosen),
        tuple(row["text"] for row in source),
        frozenset(_texts(held)),
        {unit.sentence.id: tuple(_held(unit)[1]) for unit in chosen} if plan.view == "triplets" else {},
        folders=folders_in(plan.workdir),
    )
    seen = Seen(normal, {normal(text) for text in _texts(source)}, {normal(text) for text in _texts(held)})
    request = Request(
        plan.method,
        plan.settings,
        given,
        plan.copies,
        plan.candidates,
        plan.seed,
        seen,
        lambda text: bool(unmasked(text)),
    )
    tell(f"{plan.method}: {METHODS[plan.method][0]}")
    method = load_method(request)
    judged = judge_proposals(request, method, plan.workdir, crew)
    judged = lost(judged, _near([row["text"] for row in held], [trial.text for trial in judged.kept]), "near-held-out")
    device, label_safe = plan.settings.device, plan.settings.label_safe
    if plan.judge is not None and label_safe:
        written = [(trial.source, trial) for trial in judged.kept]
        judged = lost(judged, invented(written, plan.judge, device), "aspect-found")
    layer_rows, judged = _rows(plan, chosen, judged)
    if plan.view == "triplets" and label_safe:
        pairs = _pairs(chosen, judged, layer_rows)
        turned = any(trial.relabelled for trial in judged.kept)
        flipped = list(map(_flipped, pairs)) if turned else []
        gone = unconfirmed(flipped, plan.judge, device) if turned else label_lost(pairs, given.folders)
        layer_rows, judged = (
            [row for n, row in enumerate(layer_rows) if n not in gone],
            lost(judged, gone, "flip-unconfirmed" if turned else "label-lost"),
        )
    tell(f"measures: {counted(len(layer_rows), 'row')}")
    taken = _measured(plan, source, chosen, judged, layer_rows)
    about = describe_layer(plan, parent, method, taken, skipped, judged, len(chosen))
    rejected = [*skipped, *judged.rejected]
    tell(f"release: {counted(len(layer_rows), 'row')}")
    path, before = child_release.write(
        plan.out, plan.version, parent, TRAIN, plan.named, layer_rows, write_rejected(rejected), about
    )
    return ChildRelease(path, before, plan.named, len(layer_rows), count_reasons(rejected), taken)


def _texts(reviews: Sequence[ReviewRow]) -> Iterator[str]:
    """Whole reviews and their sentences."""
    for row in reviews:
        yield row["text"]
        yield from (row["text"][start:end] for start, end in parts(row))


def _sentences(
    plan: AugmentPlan, source: Sequence[ReviewRow], held: Sequence[ReviewRow]
) -> tuple[list[ViewUnit], list[Rejected]]:
    """The sentences that are augmented, in order, and those that are not: for the view's reasons, or as they stand in
    valid or test too.
    """
    out = {normal(text) for text in _texts(held)}
    chosen: list[ViewUnit] = []
    skipped: list[Rejected] = []
    for row in source:
        for unit in units(row, plan.view, plan.keep):
            if isinstance(unit, tuple):
                skipped.append(Rejected(*unit))
            elif normal(unit.sentence.text) in out:
                skipped.append(Rejected(unit.sentence.id, "held-out"))
            else:
                chosen.append(unit)
    chosen = [chosen[at] for at in draw_places([unit.sentence.id for unit in chosen], plan.limit, plan.seed)]
    if not chosen:
        raise ReleaseError(
            "no sentence can be augmented", where=str(plan.release), fix="see `builder augment --help` for the views"
        )
    return chosen, skipped


def _near(held: Sequence[str], made: Sequence[str]) -> set[int]:
    """The indices of made texts that are near-duplicates of one held out."""
    texts = [normal(text) for text in (*held, *made)]
    whose = clusters(len(texts), links(texts))
    crossing = disputed(whose, ((n, "held" if n < len(held) else "made") for n in range(len(texts))))
    return {max(pair) - len(held) for pair in among(texts, crossing) if min(pair) < len(held) <= max(pair)}


def _rows(plan: AugmentPlan, chosen: Sequence[ViewUnit], judged: Judgement) -> tuple[list[LayerRow], Judgement]:
    """The rows of the layer, and what was rejected because a part of a triplet could not be followed."""
    by_id = {unit.sentence.id: unit for unit in chosen}
    made = [layer_row(by_id[trial.source.id], trial, plan.view, plan.named, plan.method) for trial in judged.kept]
    judged = lost(judged, {n for n, row in enumerate(made) if isinstance(row, str)}, "phrase-broken")
    return [row for row in made if not isinstance(row, str)], judged


def _pairs(chosen: Sequence[ViewUnit], judged: Judgement, layer_rows: Sequence[LayerRow]) -> list[tuple[Held, Held]]:
    """Sources and what was made of them, with their triplets in the same order."""
    before = {unit.sentence.id: _held(unit) for unit in chosen}
    return [
        (before[trial.source.id], (row["text"], _triplets(row)))
        for trial, row in zip(judged.kept, layer_rows, strict=True)
    ]


def _flipped(pair: tuple[Held, Held]) -> Held:
    """What was made, with those of its triplets whose polarity the method changed."""
    (_, before), (text, after) = pair
    return text, [new for old, new in zip(before, after, strict=True) if old.polarity != new.polarity]


def _measured(
    plan: AugmentPlan,
    source: Sequence[ReviewRow],
    chosen: Sequence[ViewUnit],
    judged: Judgement,
    layer_rows: Sequence[LayerRow],
) -> dict[str, object]:
    """Yield, variety, distance, fluency; and of triplets, how many others still find."""
    rows_of = {unit.sentence.id: unit.row["id"] for unit in chosen}
    texts = [(row["id"], row["text"]) for row in source]
    taken = measures(judged, len(chosen), "zh", texts, rows_of.__getitem__, plan.settings)
    if plan.view == "triplets" and not any(trial.relabelled for trial in judged.kept):
        taken["triplets still found"] = survival(
            _pairs(chosen, judged, layer_rows), judges(plan.judge, plan.settings.device)
        )
    return taken


def _held(unit: ViewUnit) -> Held:
    """A source sentence as a text of its own, its triplets in the order in which `layer_row` puts them."""
    triplets = [triplet(row).shifted(-unit.start) for row in unit.triplets]
    return unit.sentence.text, sorted(triplets, key=lambda held: (held.opinion.spans, held.aspect.spans))


def _triplets(row: LayerRow) -> list[Triplet]:
    return [triplet(triplet_row) for triplet_row in row["triplets"]]
