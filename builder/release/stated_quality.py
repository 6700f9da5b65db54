"""What was measured on a release, by people or by gold, or that nothing was: for its card and its Croissant file. Pure.

In: `Facts.quality`, the result of `builder gold audit` as plain values (empty without one), and `Facts.figures`, by
gold reviews. Out: text.
"""

from __future__ import annotations

from collections.abc import Mapping

from builder.core.annotators import describe_annotators
from builder.release.figures import markdown, sentence
from builder.release.manifest import Facts

NOT_MEASURED = "Not measured: nobody has judged a sample of this release. `builder gold audit draw` draws one."


def quality_sentence(facts: Facts) -> str:
    """The results in sentences, of the audit and by gold reviews, or that quality was not measured."""
    audited = [str(facts.quality["summary"])] if facts.quality.get("summary") else []
    by_gold = [f"By gold: {sentence(facts.figures)}"] if facts.figures else []
    return " ".join(audited + by_gold) or NOT_MEASURED


def quality_section(facts: Facts) -> str:
    """The section of the card, with the precision of each stratum."""
    strata = facts.quality.get("strata")
    audited = str(facts.quality.get("summary") or "")
    lines = ["## Quality", "", audited or ("No sample of this release was audited." if facts.figures else NOT_MEASURED)]
    if isinstance(strata, Mapping) and strata:
        lines += ["", "| triplets | precision (percent) | 95% interval | judged |", "|---|---|---|---|"]
        lines += [
            f"| {name} | {share['value']:.1f} | {share['low']:.1f} to {share['high']:.1f} | {share['answers']:,} |"
            for name, share in strata.items()
        ]
    if facts.figures:
        lines += [
            "",
            f"What the method makes of the gold reviews, {describe_annotators(facts.gold_annotators)}:",
            "",
            markdown(facts.figures),
        ]
    return "\n".join(lines) + "\n"
