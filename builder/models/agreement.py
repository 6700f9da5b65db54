"""Variant E: two views of a review check each other. In: the rules' triplets and a reader's proposals. Out: what both
together hold.

The rules know words and grammar, the reader knows what stands where in reviews; they err at different places (Blum and
Mitchell 1998). A rule triplet whose pair the judge finds improbable goes, where the judge may doubt it
(`TrustLimits.place`). One whose aspect the reader takes longer gets its aspect (the rules stop at a word they do not
know: 豆花 of 三色豆花). A proposal of which the judge is sure comes in where no rule triplet contradicts it, and where
the rules would give it the same polarity. A polarity of the rules stands.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from builder.core.edges import clashes, overlap, shared, tidied
from builder.core.records import Triplet
from builder.engine import Doc, RuleEngine
from builder.models.tagger import Proposal, in_place, settle
from builder.models.trust import WIDEN, TrustLimits

FLOOR = 0.02
"""Proposals below are not looked at."""


def fresh(kept: Sequence[Triplet], proposals: Sequence[Proposal], limits: TrustLimits) -> list[Triplet]:
    """The sure proposals to take in beside the rule triplets that stay, none of them clashing with any."""
    sure = settle([triplet for chance, triplet in proposals if chance >= limits.limit])
    return [triplet for triplet in sure if not any(clashes(triplet, other) for other in kept)]


def widened(kept: Sequence[Triplet], proposals: Sequence[Proposal]) -> list[Triplet]:
    """The rule triplets that stay, each with the aspect of the likeliest proposal for its place if that holds its own
    and more, but for the aspect of another with its opinion (湯和麵 of 湯和麵味道好).
    """
    likely = sorted((proposal for proposal in proposals if proposal[0] >= WIDEN), key=lambda proposal: -proposal[0])
    out: dict[object, Triplet] = {}
    for triplet in kept:
        own = triplet.aspect_full
        best = next((other for _, other in likely if clashes(triplet, other)), triplet)
        wide = best.aspect_full
        if (
            wide.spans != own.spans
            and wide.start <= own.start
            and own.end <= wide.end
            and not shared(wide, triplet.opinion)
            and not any(_is_beside(other, triplet) and overlap(other.aspect_full, wide) for other in kept)
        ):
            triplet = replace(triplet, aspect=best.aspect, aspect_full=wide, owner=None)
        out.setdefault(triplet.key, triplet)
    return list(out.values())


def _is_beside(other: Triplet, triplet: Triplet) -> bool:
    """Whether a triplet gives another's opinion to another aspect."""
    return overlap(other.opinion_full, triplet.opinion_full) and not overlap(other.aspect_full, triplet.aspect_full)


def merged(
    rules: Sequence[Triplet], stays: Sequence[bool], proposals: Sequence[Proposal], limits: TrustLimits
) -> tuple[Triplet, ...]:
    """What the two views hold together, in text order: the rule triplets that stay, and what the model adds."""
    kept = [triplet for triplet, stay in zip(rules, stays, strict=True) if stay]
    kept = widened(kept, proposals)
    return tuple(sorted(kept + fresh(kept, proposals, limits), key=in_place))


def held(
    engine: RuleEngine,
    doc: Doc,
    rules: Sequence[Triplet],
    stays: Sequence[bool],
    proposals: Sequence[Proposal],
    limits: TrustLimits,
) -> tuple[Triplet, ...]:
    """As `merged`, with every proposal as the engine weighs it, or as it is where they read none (also where they
    refuse it); those stay out of which they read another polarity, and exceptions. What the release holds and what
    `extract` finds are made here.
    """
    weighed = engine.weigh(doc, [triplet for _, triplet in proposals])
    stated = [own or tidied(doc.text, triplet) for own, (_, triplet) in zip(weighed, proposals, strict=True)]
    sound = [
        (chance, own)
        for own, (chance, given) in zip(stated, proposals, strict=True)
        if own and own.polarity == given.polarity and not engine.excepts(own)
    ]
    return merged(rules, stays, sound, limits)
