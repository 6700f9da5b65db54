"""What people measured on a release, or that nobody has: for its card and its Croissant file. Pure.

In: `Facts.quality`, the result of `builder audit` as plain values (empty without one). Out: text.
"""

from __future__ import annotations

from collections.abc import Mapping

from builder.release.manifest import Facts

NOT_MEASURED = "Not measured: nobody has judged a sample of this release. `builder audit draw` draws one."


def quality_sentence(facts: Facts) -> str:
    """The result in sentences, or that quality was not measured."""
    return str(facts.quality.get("summary") or NOT_MEASURED)


def quality_section(facts: Facts) -> str:
    """The section of the card, with the precision of each stratum."""
    strata = facts.quality.get("strata")
    lines = ["## Quality", "", quality_sentence(facts)]
    if isinstance(strata, Mapping) and strata:
        lines += ["", "| triplets | precision (percent) | 95% interval | judged |", "|---|---|---|---|"]
        lines += [
            f"| {name} | {share['value']:.1f} | {share['low']:.1f} to {share['high']:.1f} | {share['answers']:,} |"
            for name, share in strata.items()
        ]
    return "\n".join(lines) + "\n"
