"""Everything that a release states about itself but its number, parent and date.

In: the drafts of its splits, the tallies of their rows, and the database. Out: `Facts` for manifest and dataset card.
"""

from __future__ import annotations

from collections.abc import Mapping

from builder import __version__
from builder.core.annotators import describe_annotators
from builder.core.config import flat
from builder.core.errors import ConfigError
from builder.core.licences import by_source
from builder.core.records import POLARITIES
from builder.core.wording import counted
from builder.gold.metrics import Answer
from builder.gold.metrics.scores import Metric
from builder.gold.metrics.systems import Settings, measure
from builder.models.calibration import load_calibration
from builder.models.trust import TrustLimits
from builder.pipeline import judging
from builder.pipeline.context import Context
from builder.pipeline.measured_quality import quality
from builder.pipeline.release_reviews import train_source
from builder.pipeline.release_rows import SplitDraft
from builder.release.figures import QualityFigure, metric_name
from builder.release.manifest import Facts, LayerFacts, SplitFacts
from builder.release.origin import SHIPPED, SHIPPED_JUDGE, UNTRUSTED, WEIGHED
from builder.release.statistics import Tally
from builder.store import labellers, readings, released, reviews, runs, triplets
from builder.store.labelled import GOLD, SILVER, LabelledLayer

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
    "unlabelled",
)
NO_JUDGE = "There were too few reviews for a judge"
RULES_ALONE = "The profile rules trains no judge"
_WITHOUT_EFFECT = (
    "workers", "engine", "scheduler", "evaluate.gold", "evaluate.gold_annotators", "evaluate.silver", "annotate.models",
    "lexicons.dir", "rules.dir", "release.version", "release.bump", "release.max_drop", "release.drop_reason",
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
        | {"annotations": readings.backend(context.connection), "lexicons": context.lexicon.digest},
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
        QualityFigure(
            metric_name(f"{result.metric.match} {part}"),
            of,
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
    if context.config.discriminate.mode == "paper":
        return ""
    trust, variant = judging.read_trust(context), train_source(context)[0]
    readers = labellers.heeded(context.connection) if variant == "E" else []
    holds = "what the rules hold" + (f", {WEIGHED}{' and '.join(readers)}" if readers else "")
    if trust is None and context.config.profile == "rules":
        return f"{RULES_ALONE}. The release holds {holds}."
    if trust is None:
        return (
            f"{NO_JUDGE}: {context.config.discriminate.least:,} reviews with triplets are needed. The release holds "
            f"{holds}."
        )
    if not trust:
        effect = (
            f"Variant E adds, lengthens and drops nothing by it: the release holds {holds}."
            if variant == "E"
            else f"It filters variant {variant} all the same: read its verdicts with care."
        )
        return f"{UNTRUSTED}: it learnt from too few reviews to doubt what rules say. {effect}"
    shipped = judging.find_shipped_model(context.config, context.folders) is not None
    if variant != "E":
        return f"{SHIPPED_JUDGE}." if shipped else "The panel of taggers is trusted."
    limits, calibration = judging.read_limits(context), load_calibration(context.models / "panel")
    rated = f" Its confidences are calibrated on {calibration.source}." if calibration else ""
    return (
        (SHIPPED_JUDGE if shipped else f"The panel of taggers is trusted to {trust:.0%}")
        + f". Variant E leaves out triplets of the rules in which it finds no pair (less than {limits.drop:g}), unless "
        f"the rules were firm or found them neutral{_describe_judged(limits)}. It drops none for its polarity: that of "
        f"the rules stands. It adds proposals of {limits.add:g} or more{_describe_unread(limits)}.{rated}"
        + (f" Where they read reviews, {' and '.join(readers)} were weighed with both." if readers else "")
    )


def _describe_judged(limits: TrustLimits) -> str:
    """Which rules the judge may judge, where these are not all."""
    return "" if limits.judged is None else f", and judges those of {len(limits.judged)} rules alone"


def _describe_unread(limits: TrustLimits) -> str:
    """The limit of opinions that the rules do not read, where it is another."""
    return "" if limits.add_unread == limits.add else f", and of {limits.add_unread:g} where the rules read no opinion"


def _describe_split(context: Context, draft: SplitDraft, tally: Tally) -> SplitFacts:
    """A split with its source and the counts of its rows; and who labelled its layers."""
    variant, last = train_source(context)
    count, in_gold = tally.counts["reviews"], tally.counts["gold"]
    source = _split_source(variant, last, draft.name, _name_judge(context))
    if variant == "E" and (readers := labellers.heeded(context.connection)):
        source += f", {WEIGHED}{' and '.join(readers)}"
    if SILVER in draft.layers:
        source = f"labels of {draft.layers[SILVER].labelled_by}"
    if in_gold:
        source = "gold" if in_gold == count else f"gold, and {source} where there is none"
    annotations = [kind for kind, number in ((GOLD, in_gold), (SILVER, count - in_gold)) if number]
    return SplitFacts(
        draft.name,
        source,
        " and ".join(annotations) or SILVER,
        count,
        tally.counts["triplets"],
        {polarity: tally.polarities[polarity] for polarity in POLARITIES},
        _describe_layers(draft.layers, tally),
    )


def _describe_layers(layers: Mapping[str, LabelledLayer], tally: Tally) -> tuple[LayerFacts, ...]:
    """The layers of a split that are labelled in full, and by whom."""
    return tuple(
        LayerFacts(name, layer.labelled_by, tally.layers[name].reviews, tally.layers[name].triplets, layer.annotators)
        for name, layer in layers.items()
    )


def _name_judge(context: Context) -> str:
    """The judge that variant E follows; empty where it follows none."""
    if not judging.read_trust(context):
        return ""
    return SHIPPED if judging.find_shipped_model(context.config, context.folders) else "panel"


def _split_source(variant: str, last: int, name: str, judge: str) -> str:
    """Where the triplets of a split come from."""
    if variant == "E":
        return f"rules and {judge} together" if judge else "rules"
    judged = ", less what the judge rejects" if variant in "AC" else ""
    return {
        "train": f"last training set of variant {variant} (S_{last})",
        "valid": f"rules{judged}",
        "test": f"rules and last model of variant {variant} together{judged}",
    }[name]
