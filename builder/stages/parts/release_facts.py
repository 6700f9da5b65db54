"""Everything that a release states about itself but its number, parent and date.

In: the drafts of its splits, the tallies of their rows, and the database. Out: `Facts` for manifest and dataset card.
"""

from __future__ import annotations

from collections.abc import Mapping

from builder import __version__
from builder.config import flat
from builder.errors import ConfigError
from builder.licences import by_source
from builder.metrics.scores import Metric
from builder.metrics.systems import Settings, measure
from builder.model.calibration import load_curve
from builder.model.trust import TrustLimits
from builder.records import POLARITIES
from builder.release.figures import QualityFigure, metric_name
from builder.release.manifest import Facts, SplitFacts
from builder.release.origin import UNTRUSTED
from builder.release.statistics import Tally
from builder.stages.parts import judging
from builder.stages.parts.context import Context
from builder.stages.parts.measured_quality import quality
from builder.stages.parts.release_rows import SplitDraft, train_source
from builder.store import readings, reviews, runs, triplets

REASONS = (
    "unsure",
    "masked",
    "span",
    "contradiction",
    "overlap",
    "masked-duplicate",
    "near-duplicate",
    "emptied",
    "empty",
)
NO_JUDGE = "There were too few reviews for a judge"
RULES_ALONE = "The profile rules trains no judge"
_WITHOUT_EFFECT = (
    "workers", "engine", "scheduler", "evaluate.gold", "annotate.models", "lexicons.dir", "rules.dir",
    "release.version", "release.bump", "release.max_drop", "release.drop_reason", "release.date",
)  # fmt: skip
"""Settings that do not change the data stay out of the manifest: the same data is the same bytes."""


def gather_facts(context: Context, drafts: Mapping[str, SplitDraft], tallies: Mapping[str, Tally]) -> Facts:
    """The facts of a release but its number, parent and date."""
    reasons = [dropped[1] for draft in drafts.values() for dropped in draft.dropped]
    numbers = {name: tally.numbers() for name, tally in tallies.items()}
    settings = context.config.release
    return Facts(
        name=settings.name,
        version="",
        parent=None,
        licence=settings.licence,
        licences=_check_licences(context),
        builder=__version__,
        splits=[_describe_split(context, name, tally) for name, tally in tallies.items()],
        signatures={
            name: signature
            for name, signature in triplets.signatures(context.connection).items()
            if signature != triplets.RULES_REPEATED
        }
        | {"annotations": readings.backend(context.connection), "lexicons": context.lexicon.digest},
        config={key: value for key, value in flat(context.config).items() if key not in _WITHOUT_EFFECT},
        ingest=runs.runs(context.connection)["ingest"].counts,
        dropped={reason: reasons.count(reason) for reason in REASONS},
        metrics=runs.metrics(context.connection),
        creator=settings.creator,
        url=settings.url,
        panel=_describe_panel(context),
        quality=quality(context.connection),
        contact=settings.contact,
        figures=_silver_figures(drafts),
        statistics=numbers,
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


def _silver_figures(drafts: Mapping[str, SplitDraft]) -> list[QualityFigure]:
    """Scores of the silver labels against gold, on reviews that people labelled and no model learnt from."""
    compared = {key: both for draft in drafts.values() for key, both in draft.compared.items()}
    if not compared:
        return []
    gold, silver = ({key: both[side] for key, both in compared.items()} for side in (0, 1))
    by = f"{len(compared):,} gold reviews, labelled by people"
    return [
        QualityFigure(
            metric_name(f"{result.metric.match} {part}"),
            "silver labels",
            by,
            round(estimate.value, 4),
            estimate.low and round(estimate.low, 4),
            estimate.high and round(estimate.high, 4),
        )
        for result in measure(gold, silver, (Metric("exact", "triplet"), Metric("lenient", "triplet")), Settings())
        for part, name in (("P", "precision"), ("R", "recall"), ("F1", "f1"))
        for estimate in (result.values[name],)
    ]


def _describe_panel(context: Context) -> str:
    """What the cross-fitted panel did to the data, in a sentence; empty with another judge."""
    if context.config.discriminate.mode != "cross-fit":
        return ""
    trust, variant = judging.read_trust(context), train_source(context)[0]
    if trust is None and context.config.profile == "rules":
        return f"{RULES_ALONE}. The release holds what the rules hold."
    if trust is None:
        return (
            f"{NO_JUDGE}: {context.config.discriminate.least:,} reviews with triplets are needed. The release holds "
            "what the rules hold."
        )
    if not trust:
        effect = (
            "Variant E adds, lengthens and drops nothing by it: the release holds what the rules hold."
            if variant == "E"
            else f"It filters variant {variant} all the same: read its verdicts with care."
        )
        return f"{UNTRUSTED}: it learnt from too few reviews to doubt what rules say. {effect}"
    if variant != "E":
        return "The panel of taggers is trusted."
    limits, curve = TrustLimits.of(trust), load_curve(context.models / "panel")
    rated = f" Its confidences are calibrated on {curve.source}." if curve else ""
    return (
        f"The panel of taggers is trusted to {trust:.0%}. Variant E leaves out triplets of the rules that the panel "
        f"gives less than {limits.drop:g}, and adds proposals of {limits.add:g} or more. "
        f"Where the lexicon knows a polarity, it decides.{rated}"
    )


def _describe_split(context: Context, name: str, tally: Tally) -> SplitFacts:
    """A split with its source and the counts of its rows."""
    variant, last = train_source(context)
    count, by_people = tally.counts["reviews"], tally.counts["gold"]
    source = _split_source(variant, last, name, bool(judging.read_trust(context)))
    if by_people:
        source = "gold" if by_people == count else f"gold, and {source} where there is none"
    annotations = [kind for kind, number in (("gold", by_people), ("silver", count - by_people)) if number]
    polarities: dict[str, int] = {polarity: tally.polarities[polarity] for polarity in POLARITIES}
    return SplitFacts(name, source, " and ".join(annotations) or "silver", count, tally.counts["triplets"], polarities)


def _split_source(variant: str, last: int, name: str, trusted: bool) -> str:
    """Where the triplets of a split come from."""
    if variant == "E":
        return "rules and panel together" if trusted else "rules"
    judged = ", less what the judge rejects" if variant in "AC" else ""
    return {
        "train": f"last training set of variant {variant} (S_{last})",
        "valid": f"rules{judged}",
        "test": f"rules and last model of variant {variant} together{judged}",
    }[name]
