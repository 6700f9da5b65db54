"""The polarity of a paired opinion (Lu et al. 2024, section 3.2.4).

In: an opinion with the tokens around it. Out: its negators, and its valence with the reasons.
"""

from __future__ import annotations

from collections.abc import Sequence

from builder.core.reasons import Reasons
from builder.engine.described.mentions import Mention
from builder.engine.described.pairs import find_neighbours
from builder.engine.described.steps import PolarityStep
from builder.engine.paths import Tree
from builder.engine.polarity import read_opinion
from builder.language.lexicon.resources import Lexicon, OpinionEntry

MIDDLE = 5.0
LOWEST = 1.0


def find_negators(
    text: str, tokens: Tree, opinion: Mention, lexicon: Lexicon, step: PolarityStep
) -> list[tuple[int, str]]:
    """The tokens in a negation relationship with an opinion (section 3.2.4), each with its relation.

    That is a `neg` arc, or any arc to a negator of the lexicon before the opinion: parsers take 不會 for a modal.
    """
    return [
        (number, relation)
        for number, relation in find_neighbours(tokens, opinion)
        if number < opinion.first
        and (
            (relation in step.relations and tokens[number].head != -1)
            or lexicon.negators.get(text[tokens[number].start : tokens[number].end]) in step.kinds
        )
    ]


def classify(opinion: Mention, negators: Sequence[tuple[int, str]]) -> tuple[float, Reasons]:
    """The valence of an opinion and its reasons (section 3.2.4): that of its category, mirrored at 5 if negated.

    Above 5 is positive, below negative, 5 neutral; what is neutral stays so.
    """
    entry = opinion.entry
    assert isinstance(entry, OpinionEntry)
    word = read_opinion(entry)
    if not negators:
        return entry.valence, Reasons(word)
    arcs = ", ".join(relation for _, relation in negators)
    return max(LOWEST, 2 * MIDDLE - entry.valence), Reasons(word, (("negation", f"reversed: {arcs}"),))
