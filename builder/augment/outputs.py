"""What augmentation makes of a release, and of a file of labelled sentences.

A release becomes a child release, with an augmentation layer beside its train split. A file becomes a file of the same
format, and beside it FILE.lineage.jsonl (a line a sentence), FILE.rejected.jsonl and FILE.manifest.json, written last.
Proposals are kept under the working directory, so that a stopped run goes on.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path

from builder import __version__
from builder.augment import child_release, survival
from builder.augment.catalogue import METHODS, Given, check_method, make_method, relevant_settings
from builder.augment.child_release import TRAIN, ReleaseOptions, describe_layer
from builder.augment.constraints import Trial
from builder.augment.run import (
    AugmentOptions,
    Judgement,
    Outcome,
    Rejected,
    Seen,
    draw_places,
    judge_proposals,
    lost,
)
from builder.augment.sentence_files import (
    FORMATS,
    FaultyLines,
    FileSentence,
    Language,
    by_characters,
    language_of,
    refuse,
)
from builder.augment.survival import Held
from builder.augment.views import ViewUnit, layer_row, parts, segmented, units
from builder.core import shards
from builder.core.errors import ConfigError, InputError, ReleaseError
from builder.core.files import read_text, write_atomically
from builder.core.machine import uncollected
from builder.core.shards import Crew
from builder.core.wording import counted, describe_faults
from builder.language.lexicon.folders import folders_in
from builder.release import augmentation_layers
from builder.release.augmentation_layers import LayerRow
from builder.release.export.native_rows import ReviewRow, triplet
from builder.release.gates import unmasked
from builder.release.manifest import sha256
from builder.release.shelf import Existing, opened, rows
from builder.release.verify import verify
from builder.reviews.near_duplicates import among, clusters, disputed, links, normal

Tell = Callable[[str], None]

# ---- A release


def augment_release(options: ReleaseOptions, tell: Tell = lambda line: None) -> Outcome:
    """Augment a release. ReleaseError if it does not verify, ConfigError for what cannot be asked for."""
    check_method(options.method)
    survival.check()
    parent = _checked(options)
    with uncollected(), shards.opened(options.engine, options.workers, options.scheduler) as crew:
        return _run(options, parent, crew, tell)


def _checked(options: ReleaseOptions) -> Existing:
    """The parent, sound, with a train split that can be augmented and no layer of this name."""
    parent = opened(options.release)
    if TRAIN not in parent.splits:
        raise ConfigError(
            f"no split {TRAIN!r}, which alone can be augmented",
            where=str(options.release),
            fix="choose another release",
        )
    taken = (*augmentation_layers.RESERVED, *parent.manifest.get("augmentations", {}))
    if not augmentation_layers.NAME.fullmatch(options.named) or options.named in taken:
        what = "is taken" if options.named in taken else "is no name for a layer"
        raise ConfigError(
            f"{options.named!r} {what}", where="--layer", fix="choose another one: small letters, digits and hyphens"
        )
    if options.view == "triplets" and options.keep == "aspect":
        raise ConfigError(
            "triplets need their opinions", where="--keep", fix="use --keep aspect+opinion, or --view ate"
        )
    if faults := verify(options.release):
        raise ReleaseError(
            f"the release is not sound: {faults[0]}",
            where=str(options.release),
            fix="`builder verify` lists all faults",
        )
    return parent


def _run(options: ReleaseOptions, parent: Existing, crew: Crew, tell: Tell) -> Outcome:
    source = list(rows(options.release, TRAIN))
    held = [row for split in parent.splits if split != TRAIN for row in rows(options.release, split)]
    units, skipped = _sentences(options, source, held)
    tell(f"words: {counted(len(units), 'sentence')}")
    folders = folders_in(options.workdir)
    cut = segmented([unit.sentence for unit in units], folders)
    chosen = [replace(unit, sentence=sentence) for unit, sentence in zip(units, cut, strict=True)]
    given = Given(
        options.workdir / "models" / "augment",
        tuple(cut),
        tuple(row["text"] for row in source),
        frozenset(_texts(held)),
        folders=folders,
    )
    seen = Seen(normal, {normal(text) for text in _texts(source)}, {normal(text) for text in _texts(held)})
    options = replace(options, settings=replace(options.settings, given=given))
    tell(f"{options.method}: {METHODS[options.method][0]}")
    method = make_method(options.method, options.settings)
    judged = judge_proposals(options, method, seen, lambda text: bool(unmasked(text)), crew)
    judged = lost(judged, _near([row["text"] for row in held], [trial.text for trial in judged.kept]), "near-held-out")
    device, label_safe = options.settings.device, options.settings.label_safe
    if options.judge is not None and label_safe:
        judged = lost(judged, survival.invented(judged.kept, options.judge, device), "aspect-found")
    layer_rows, judged = _rows(options, chosen, judged)
    if options.view == "triplets" and label_safe:
        pairs = _pairs(chosen, judged, layer_rows)
        turned = any(trial.relabelled for trial in judged.kept)
        flipped = list(map(_flipped, pairs)) if turned else []
        gone = (
            survival.unconfirmed(flipped, options.judge, device)
            if turned
            else survival.label_lost(pairs, given.folders)
        )
        layer_rows, judged = (
            [row for n, row in enumerate(layer_rows) if n not in gone],
            lost(judged, gone, "flip-unconfirmed" if turned else "label-lost"),
        )
    tell(f"measures: {counted(len(layer_rows), 'row')}")
    taken = _measured(options, source, chosen, judged, layer_rows)
    judged = replace(judged, rejected=(*skipped, *judged.rejected))
    about = describe_layer(options, parent, method, taken, judged)
    tell(f"release: {counted(len(layer_rows), 'row')}")
    path, before = child_release.write(options, parent, layer_rows, judged.rejected, about)
    return Outcome(path, len(layer_rows), judged.reasons, taken, options.named, before)


def _texts(reviews: Sequence[ReviewRow]) -> Iterator[str]:
    """Whole reviews and their sentences."""
    for row in reviews:
        yield row["text"]
        yield from (row["text"][start:end] for start, end in parts(row))


def _sentences(
    options: ReleaseOptions, source: Sequence[ReviewRow], held: Sequence[ReviewRow]
) -> tuple[list[ViewUnit], list[Rejected]]:
    """The sentences that are augmented, in order, and others: of no use to the view, or in valid or test too."""
    out = {normal(text) for text in _texts(held)}
    chosen: list[ViewUnit] = []
    skipped: list[Rejected] = []
    for row in source:
        for unit in units(row, options.view, options.keep):
            if isinstance(unit, tuple):
                skipped.append(Rejected(*unit))
            elif normal(unit.sentence.text) in out:
                skipped.append(Rejected(unit.sentence.id, "held-out"))
            else:
                chosen.append(unit)
    chosen = [chosen[at] for at in draw_places([unit.sentence.id for unit in chosen], options.limit, options.seed)]
    if not chosen:
        raise ReleaseError(
            "no sentence can be augmented", where=str(options.release), fix="see `builder augment --help` for the views"
        )
    return chosen, skipped


def _near(held: Sequence[str], made: Sequence[str]) -> set[int]:
    """The indices of made texts that are near-duplicates of one held out."""
    texts = [normal(text) for text in (*held, *made)]
    whose = clusters(len(texts), links(texts))
    crossing = disputed(whose, ((n, "held" if n < len(held) else "made") for n in range(len(texts))))
    return {max(pair) - len(held) for pair in among(texts, crossing) if min(pair) < len(held) <= max(pair)}


def _rows(options: ReleaseOptions, chosen: Sequence[ViewUnit], judged: Judgement) -> tuple[list[LayerRow], Judgement]:
    """The rows of the layer, and what was rejected because a part of a triplet could not be followed."""
    by_id = {unit.sentence.id: unit for unit in chosen}
    made = [
        layer_row(by_id[trial.source.id], trial, options.view, options.named, options.method) for trial in judged.kept
    ]
    judged = lost(judged, {n for n, row in enumerate(made) if isinstance(row, str)}, "phrase-broken")
    return [row for row in made if not isinstance(row, str)], judged


def _pairs(chosen: Sequence[ViewUnit], judged: Judgement, layer_rows: Sequence[LayerRow]) -> list[tuple[Held, Held]]:
    """Sources and what was made of them, with their triplets in the same order."""
    before = {unit.sentence.id: _held(unit) for unit in chosen}
    return [
        (before[trial.source.id], (row["text"], list(map(triplet, row["triplets"]))))
        for trial, row in zip(judged.kept, layer_rows, strict=True)
    ]


def _flipped(pair: tuple[Held, Held]) -> Held:
    """What was made, with those of its triplets whose polarity the method changed."""
    (_, before), (text, after) = pair
    return text, [new for old, new in zip(before, after, strict=True) if old.polarity != new.polarity]


def _measured(
    options: ReleaseOptions,
    source: Sequence[ReviewRow],
    chosen: Sequence[ViewUnit],
    judged: Judgement,
    layer_rows: Sequence[LayerRow],
) -> dict[str, object]:
    """Yield, variety, distance, fluency; and of triplets, how many others still find."""
    rows_of = {unit.sentence.id: unit.row["id"] for unit in chosen}
    texts = [(row["id"], row["text"]) for row in source]
    taken = survival.measures(judged, options.settings, texts, rows_of.__getitem__)
    if options.view == "triplets" and not any(trial.relabelled for trial in judged.kept):
        taken["triplets still found"] = survival.survival(
            _pairs(chosen, judged, layer_rows), survival.judges(options.judge, options.settings.device)
        )
    return taken


def _held(unit: ViewUnit) -> Held:
    """A source sentence as a text of its own, its triplets in the order in which `layer_row` puts them."""
    triplets = [triplet(row).shifted(-unit.start) for row in unit.triplets]
    return unit.sentence.text, sorted(triplets, key=lambda held: (held.opinion.spans, held.aspect.spans))


# ---- A file

_UTF_8 = "name a file in UTF-8"


@dataclass(frozen=True, slots=True, kw_only=True)
class FileOptions(AugmentOptions):
    """`held_out`: files whose sentences may not be made; `strict` refuses a faulty line, which else is left out."""

    source: Path
    target: Path
    form: str
    held_out: tuple[Path, ...] = ()
    language: Language | None = None
    with_source: bool = False
    strict: bool = False


def augment_file(options: FileOptions, tell: Tell = lambda line: None) -> Outcome:
    """Faulty lines are named and counted; nothing of `held_out` is made. InputError where no sentence is left."""
    check_method(options.method)
    survival.check()
    if options.form not in FORMATS:
        raise ConfigError(f"unknown format {options.form!r}", fix=f"known: {', '.join(FORMATS)}")
    if options.target.resolve() in (options.source.resolve(), *(path.resolve() for path in options.held_out)):
        raise ConfigError(
            "the output would overwrite an input", where=str(options.target), fix="choose another --output"
        )
    content = read_text(options.source, _UTF_8)
    language = options.language or language_of(content)
    faults: list[FaultyLines] = []
    items = _read(options, options.source, content, language, None if options.strict else faults)
    named = [f"{options.source}: {fault.what}" for fault in faults]
    for line in describe_faults(named, "faulty sentence", f"{options.target.name}.rejected.jsonl"):
        tell(line)
    held_out = ((path, read_text(path, _UTF_8)) for path in options.held_out)
    out = frozenset(item.sentence.text for path, text in held_out for item in _read(options, path, text, language))
    held = set(map(_key, out))
    allowed = [item for item in items if _key(item.sentence.text) not in held]
    chosen = [allowed[at] for at in draw_places([item.sentence.id for item in allowed], options.limit, options.seed)]
    skipped = [Rejected(str(fault.first), "faulty") for fault in faults]
    skipped += [Rejected(item.sentence.id, "held-out") for item in items if _key(item.sentence.text) in held]
    sentences = tuple(item.sentence for item in chosen)
    folders = folders_in(options.workdir)
    if language == "zh" and all(map(by_characters, sentences)):
        sentences = tuple(segmented(sentences, folders))
    texts = tuple(dict.fromkeys(sentence.text for sentence in sentences))
    given = Given(options.workdir / "models" / "augment", sentences, texts, out, language=language, folders=folders)
    tell(f"{options.method}: {counted(len(sentences), 'sentence')} of {options.source}")
    judged_at = {
        item.sentence.id: item.sentence.marks[item.judged].start if item.judged >= 0 else -1 for item in chosen
    }
    seen = Seen(
        _key, {_key(item.sentence.text) for item in items}, held, apart=lambda sentence: str(judged_at[sentence.id])
    )
    options = replace(options, settings=replace(options.settings, given=given))
    method = make_method(options.method, options.settings)
    with shards.opened(options.engine, options.workers, options.scheduler) as crew:
        judged = judge_proposals(options, method, seen, crew=crew)
    taken = survival.measures(judged, options.settings, [(sentence.id, sentence.text) for sentence in sentences])
    judged = replace(judged, rejected=(*skipped, *judged.rejected))
    sources = _without(content, faults) if options.with_source else ""
    return _write(options, chosen, judged, taken, method.signature, sources)


def _key(text: str) -> str:
    return "".join(text.lower().split())


def _without(content: str, faults: Sequence[FaultyLines]) -> str:
    """A file's text less its faulty lines."""
    faulty = {number for fault in faults for number in range(fault.first, fault.last + 1)}
    return "\n".join(line for number, line in enumerate(content.split("\n"), start=1) if number not in faulty)


def _read(
    options: FileOptions, path: Path, content: str, language: Language, faults: list[FaultyLines] | None = None
) -> list[FileSentence]:
    """The sentences of a file; what is none goes to `faults`, or is an InputError without them."""
    fix = f"--format {options.form}: {FORMATS[options.form].about}"
    try:
        items = FORMATS[options.form].read(content, language, refuse if faults is None else faults.append)
    except ValueError as error:
        raise InputError(str(error), where=str(path), fix=fix) from error
    if not items:
        raise InputError(faults[0].what if faults else "no sentence in it", where=str(path), fix=fix)
    return items


def _write(
    options: FileOptions,
    items: Sequence[FileSentence],
    judged: Judgement,
    taken: Mapping[str, object],
    signature: str,
    sources: str,
) -> Outcome:
    """Write the file and what lies beside it, the manifest last. `sources`: the sentences that it begins with."""
    made = _made_content(options, items, judged, sources)
    manifest = {
        "builder": __version__,
        "source": options.source.name,
        "sha256": sha256(options.source.read_bytes()),
        "format": options.form,
        "language": options.settings.given.language,
        "method": options.method,
        "signature": signature,
        "seed": options.seed,
        "copies": options.copies,
        "candidates": options.candidates,
        "limit": options.limit,
        "with_source": options.with_source,
        "config": relevant_settings(options.settings, options.method),
        "rejected": judged.reasons,
        "measures": dict(taken),
        "output_sha256": sha256(made.encode()),
    }
    beside = {
        ".lineage.jsonl": "".join(map(_lineage, judged.kept)),
        ".rejected.jsonl": "".join(map(_rejection, judged.rejected)),
        "": made,
        ".manifest.json": json.dumps(manifest, ensure_ascii=False, indent=2) + "\n",
    }
    for suffix, content in beside.items():
        write_atomically(options.target.with_name(options.target.name + suffix), content.encode())
    return Outcome(options.target, len(judged.kept), judged.reasons, taken)


def _made_content(options: FileOptions, items: Sequence[FileSentence], judged: Judgement, sources: str) -> str:
    """The content of the file: what was kept, behind the sources where they are asked for."""
    form = FORMATS[options.form]
    by_id = {item.sentence.id: item for item in items}
    rows = "".join(form.write(by_id[trial.source.id], trial) for trial in judged.kept)
    if not options.with_source:
        return form.head + rows
    gap = "\n" if options.form in ("apc", "tsv") else "\n\n"
    return sources.rstrip("\n") + gap + rows


def _lineage(trial: Trial) -> str:
    edits = [asdict(edit) for edit in trial.candidate.edits]
    return _line({"source": trial.source.id, "text": trial.text, "edits": edits})


def _rejection(rejection: Rejected) -> str:
    edits = [asdict(edit) for edit in rejection.edits]
    return _line({"source": rejection.source, "reason": rejection.reason, "edits": edits})


def _line(row: Mapping[str, object]) -> str:
    return json.dumps(row, ensure_ascii=False) + "\n"
