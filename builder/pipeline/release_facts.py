"""Everything that a release states about itself, its number included, which follows from what changed since the last.

In: the drafts of its splits, the tallies of their rows, the database, and the releases before. Out: `Facts` for
manifest and dataset card, and the files that name the release.
"""

from __future__ import annotations

import os
import shlex
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path

from builder import __version__
from builder.core.config import flat
from builder.core.errors import ConfigError, ReleaseError
from builder.core.licences import by_source
from builder.core.records import POLARITIES, SPLITS
from builder.core.wording import counted, describe_annotators
from builder.gold.metrics import Answer
from builder.gold.metrics.scores import Metric
from builder.gold.metrics.systems import Settings, measure
from builder.models.trust import load_calibration
from builder.pipeline import judging
from builder.pipeline.context import Context
from builder.pipeline.layers import quality
from builder.pipeline.release_reviews import train_source
from builder.pipeline.release_rows import SplitDraft
from builder.release import package
from builder.release.diff import Diff, Shelf, bumped, changes, compare, compare_making
from builder.release.manifest import Facts, LayerFacts, QualityFigure, SplitFacts, making, manifest, metric_name, sha256
from builder.release.origin import SHIPPED, SHIPPED_JUDGE
from builder.release.sections import REASONS
from builder.release.shelf import Existing, existing, parse, parsed, versions
from builder.release.statistics import Tally
from builder.store import db, released, reviews, runs, triplets
from builder.store.pool_labels import GOLD, SILVER

NO_JUDGE = "No model judged the triplets"
_WITHOUT_EFFECT = (
    "workers", "engine", "scheduler", "evaluate.gold", "evaluate.gold_annotators", "evaluate.silver", "annotate.models",
    "lexicons.dir", "rules.dir", "release.version", "release.max_drop", "release.drop_reason",
    "release.date",
)  # fmt: skip
"""Settings that do not change the data stay out of the manifest: the same data is the same bytes."""


def gather_facts(context: Context, drafts: Mapping[str, SplitDraft], tallies: Mapping[str, Tally]) -> Facts:
    """The facts of a release but its number, parent and date."""
    reasons = [dropped.reason for draft in drafts.values() for dropped in draft.dropped]
    numbers = {name: tally.numbers() for name, tally in tallies.items()}
    settings = context.config.release
    places, apart = released.count_places(context.connection, [draft.released_ids() for draft in drafts.values()])
    return Facts(
        name=settings.name,
        version="",
        parent=None,
        licence=settings.licence,
        licences=_check_licences(context),
        builder=__version__,
        splits=[_describe_split(context, drafts[name], tally) for name, tally in tallies.items()],
        signatures={
            name: signature
            for name, signature in triplets.signatures(context.connection).items()
            if signature != triplets.RULES_REPEATED
        }
        | {"annotations": reviews.backend(context.connection), "lexicons": context.lexicon.digest},
        config={key: value for key, value in flat(context.config).items() if key not in _WITHOUT_EFFECT}
        | {"domain": context.folders.pack.name if context.folders.pack else context.config.domain},
        ingest=runs.runs(context.connection)["ingest"].counts,
        dropped={reason: reasons.count(reason) for reason in REASONS},
        metrics=runs.metrics(context.connection),
        creator=settings.creator,
        url=settings.url,
        panel=_describe_panel(context),
        quality=quality(context.connection),
        contact=settings.contact,
        figures=_silver_figures(drafts["test"]),
        statistics=numbers,
        places=places,
        places_apart=apart,
        folders=[
            {"role": folder.role, "name": folder.path.resolve().name, "digest": folder.digest}
            for folder in context.folders.describe()
        ],
    )


def _check_licences(context: Context) -> dict[str, str]:
    """The licences of the input's sources; ConfigError for a source that no review has."""
    licences = by_source(context.config.release.licences, "release.licences")
    sources = reviews.sources(context.connection) if licences else set()
    if strange := sorted(licences.keys() - sources):
        there = ", ".join(sorted(sources)) or "none: name the column with --source-column"
        raise ConfigError(
            f"no review has the source {strange[0]!r}", where="release.licences", fix=f"there are {there}"
        )
    return licences


def _silver_figures(draft: SplitDraft) -> list[QualityFigure]:
    """Scores against gold: of what the build would release without it, and of a language model's labels."""
    model = draft.layers[SILVER].labelled_by if SILVER in draft.layers else ""
    names = {"": "the build's labels" if model else "silver labels", SILVER: f"labels of {model}"}
    return [
        figure
        for other, pairs in draft.compared.items()
        for figure in _compare(names[other], f"{counted(len(pairs), 'gold review')}, "
                               f"{describe_annotators(draft.layers[GOLD].annotators)}",
                               {key: both[0] for key, both in pairs.items()},
                               {key: both[1] for key, both in pairs.items()})
    ]  # fmt: skip


def _compare(
    of: str, by: str, gold: Mapping[str, list[Answer]], silver: Mapping[str, list[Answer]]
) -> list[QualityFigure]:
    """Precision, recall and F1 of some labels by gold."""
    return [
        QualityFigure(metric_name(f"{result.metric.match} {part}"), of, by, value, low, high)
        for result in measure(gold, silver, (Metric("exact", "triplet"), Metric("lenient", "triplet")), Settings())
        for part, value, low, high in result.rounded()
    ]


def _describe_panel(context: Context) -> str:
    """What the shipped model did to the data, in a sentence; empty with the paper's classifier."""
    if context.config.discriminate.mode == "paper":
        return ""
    variant = train_source(context)[0]
    if not judging.has_shipped_judge(context):
        return f"{NO_JUDGE}. The release holds what the rules hold."
    if variant != "E":
        return f"{SHIPPED_JUDGE}."
    limits, calibration = judging.read_limits(context), load_calibration(context.models / judging.SHIPPED)
    rated = f" Its confidences are calibrated on {calibration.source}." if calibration else ""
    return (
        f"{SHIPPED_JUDGE}. It scores each triplet of the rules from 0 to 1, and one below {limits.dropped:.3g} is left "
        f"out. Neutral ones stay whatever their score, and so do those of all but {len(limits.judged)} rules. Triplets "
        f"of the model alone come in from a score of {limits.limit:g}.{rated}"
    )


def _describe_split(context: Context, draft: SplitDraft, tally: Tally) -> SplitFacts:
    """A split with its source and the counts of its rows; and who labelled its layers."""
    variant, last = train_source(context)
    count, in_gold = tally.counts["reviews"], tally.counts["gold"]
    judge = SHIPPED if judging.has_shipped_judge(context) else ""  # the one that variant E follows
    source = _split_source(variant, last, draft.name, judge)
    if SILVER in draft.layers:
        source = f"labels of {draft.layers[SILVER].labelled_by}"
    if in_gold:
        source = "gold" if in_gold == count else f"gold, and {source} where there is none"
    annotations = [kind for kind, number in ((GOLD, in_gold), (SILVER, count - in_gold)) if number]
    polarities: dict[str, int] = {polarity: tally.values["polarity"][polarity] for polarity in POLARITIES}
    layers = tuple(
        LayerFacts(
            name, layer.labelled_by, tally.counts[f"{name} layer"], tally.counts[f"{name} triplets"], layer.annotators
        )
        for name, layer in draft.layers.items()
    )
    annotation = " and ".join(annotations) or SILVER
    return SplitFacts(draft.name, source, annotation, count, tally.counts["triplets"], polarities, layers)


def _split_source(variant: str, last: int, name: str, judge: str) -> str:
    """Where the triplets of a split come from."""
    if variant == "E":
        return f"rules and {judge} together" if judge else "rules"
    judged = ", less what the judge rejects" if variant in "AC" else ""
    return {
        "train": f"last training set of variant {variant} (S_{last})",
        "valid": "rules",
        "test": f"rules and last model of variant {variant} together{judged}",
    }[name]


@dataclass(frozen=True, slots=True)
class _Numbering:
    """A version with its parent and what changed since; date and reason come from a release that exists already."""

    version: str
    parent: Existing | None
    diff: Diff | None
    date: str = ""
    reason: str = ""


def settle_version(
    context: Context, folder: Path, content: package.Files, facts: Facts
) -> tuple[Path, package.Files, str]:
    """Where the release goes, with all its files: the directory that holds just these already, the last one where it
    holds these data and says the same of them, or a version that is free.
    """
    settings = context.config.release
    asked, ours = settings.version, existing(context.out, settings.name)
    matching = list(_matching(context, folder, facts, package.digest(content)))
    for numbering in matching:
        target, files = context.out / f"v{numbering.version}", _list_files(facts, content, numbering)
        package.check_sound(target, "`builder resume`")
        if (target / "SHA256SUMS").read_bytes() == files["SHA256SUMS"]:
            return target, files, numbering.version
    if asked and (target := context.out / f"v{asked}").exists():
        raise ReleaseError(
            "this version exists with other content",
            where=str(target),
            fix="a release is immutable: set release.version to a new one",
        )
    is_last = bool(matching) and matching[-1].version == _name(ours[-1])
    if is_last and not asked and _states_the_same(ours[-1], facts, content):
        return ours[-1].path, {}, matching[-1].version
    numbering = _next(context, folder, facts)
    _refuse_drop(context, numbering)
    undated = replace(facts, version=numbering.version, parent=_name(numbering.parent))
    numbering = replace(numbering, date=_choose_date(context, manifest(undated, content)))
    return context.out / f"v{numbering.version}", _list_files(facts, content, numbering), numbering.version


def _matching(context: Context, folder: Path, facts: Facts, digest: str) -> Iterator[_Numbering]:
    """The releases that may be this very one: that of the version asked for, or all that hold the same data."""
    ours, asked = existing(context.out, context.config.release.name), context.config.release.version
    for n, release in enumerate(ours):
        version = str(release.manifest["version"])
        if version == asked if asked else _data_digest(release.path) == digest:
            parent = ours[n - 1] if n else None
            date, reason = (str(release.manifest.get(key, "")) for key in ("date", "reason"))
            yield _Numbering(version, parent, _diff(parent, version, folder, facts), date, reason)


_OF_MAKING = (
    "builder", "config", "signatures", "folders", "files", "version", "parent", "parent_name", "date", "reason",
    "change",
)  # fmt: skip
"""Keys of a manifest that say how and when a release was made; the others say what its data are."""


def _states_the_same(release: Existing, facts: Facts, content: package.Files) -> bool:
    """Whether a release of the same data says of them what this one would."""
    before, now = dict(release.manifest), parse(manifest(facts, content))
    return all(before.get(key) == now.get(key) for key in {*before, *now} - set(_OF_MAKING))


def _next(context: Context, folder: Path, facts: Facts) -> _Numbering:
    """The version that comes next by what changed, or the one asked for."""
    settings = context.config.release
    ours = existing(context.out, settings.name)
    if settings.version:
        ours = [release for release in ours if release.version < parsed(settings.version)]
    parent = ours[-1] if ours else None
    change = _diff(parent, settings.version or "this build", folder, facts)
    if settings.version:
        return _Numbering(settings.version, parent, change, reason=settings.drop_reason)
    taken = versions(context.out)
    if parent is None or change is None:
        number = bumped(taken[-1], "minor") if taken else (0, 1, 0)
        return _Numbering(".".join(map(str, number)), None, None, reason=settings.drop_reason)
    number = bumped(parent.version, change.level)
    while number in taken:  # a release of another name
        number = bumped(number, "patch")
    version = ".".join(map(str, number))
    return _Numbering(version, parent, replace(change, after=version), reason=settings.drop_reason)


def _diff(parent: Existing | None, version: str, folder: Path, facts: Facts) -> Diff | None:
    if parent is None:
        return None
    return compare(
        (str(_name(parent)), Shelf(parent.path, parent.splits)), (version, Shelf(folder, SPLITS)),
        made=compare_making(parent.manifest, making(facts)),
    )  # fmt: skip


def _name(release: Existing | None) -> str | None:
    return str(release.manifest["version"]) if release else None


def _refuse_drop(context: Context, numbering: _Numbering) -> None:
    settings = context.config.release
    if drops := numbering.diff.drops(settings.max_drop) if numbering.diff and not settings.drop_reason else []:
        raise ReleaseError(
            f"more than {settings.max_drop:.0%} of release {_name(numbering.parent)} would be gone "
            f"({'; '.join(drops)})",
            where=str(context.out),
            fix="if that is meant, say why: `builder versions release --workdir "
            f'{shlex.quote(str(context.workdir))} --because "…"`; for another dataset set release.name or --out',
        )


def _list_files(facts: Facts, content: package.Files, numbering: _Numbering) -> package.Files:
    numbered = replace(
        facts, version=numbering.version, parent=_name(numbering.parent), date=numbering.date, reason=numbering.reason,
        change=numbering.diff.level if numbering.diff else "first",
    )  # fmt: skip
    return package.whole(
        numbered, content, changes(numbered, numbering.diff, numbering.parent.path if numbering.parent else None)
    )


def _choose_date(context: Context, undated_manifest: str) -> str:
    """The day of publication: as set, SOURCE_DATE_EPOCH, when this workdir first made this release, or today."""
    if context.config.release.date:
        return context.config.release.date
    if epoch := os.environ.get("SOURCE_DATE_EPOCH"):
        return datetime.fromtimestamp(int(epoch), UTC).date().isoformat()
    name = f"release.date:{sha256(undated_manifest.encode())[:16]}"
    today = datetime.fromtimestamp(time.time(), UTC).date().isoformat()
    date = runs.setting(context.connection, name) or today
    with db.atomic(context.connection):
        runs.set_setting(context.connection, name, date)
    return date


def _data_digest(release: Path) -> str:
    """The digest of the checksum lines of data/ in a release."""
    try:
        lines = (release / "SHA256SUMS").read_text(encoding="utf-8").splitlines(keepends=True)
    except OSError:
        return ""
    return sha256("".join(line for line in lines if line[66:].startswith("data/")).encode())
