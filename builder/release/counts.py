"""Whether the counts of a split are those that the manifest states. In: both. Out: faults, a line each. Pure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Any

from builder.core.records import POLARITIES
from builder.core.wording import counted


def count_faults(
    split: str, facts: Mapping[str, Any], held: Counter[str], statistics: Mapping[str, Any] | None
) -> Iterator[str]:
    """What `held` in the files of a split differs in from the manifest's `facts` about it, and its statistics."""
    stated = facts.get("reviews"), facts.get("triplets")
    if stated != (held["reviews"], held["triplets"]):
        yield (
            f"{split}: {counted(held['reviews'], 'review')} and {counted(held['triplets'], 'triplet')}, "
            f"manifest.json says {stated[0]} and {stated[1]}"
        )
    polarities = {name: held[name] for name in POLARITIES}
    if facts.get("polarities") != polarities:
        yield f"{split}: polarities {polarities}, manifest.json says {facts.get('polarities')}"
    for layer in facts.get("layers", ()):
        name, stated_layer = layer["annotation"], (layer["reviews"], layer["triplets"])
        actual = held[f"{name} layer"], held[f"{name} triplets"]
        if stated_layer != actual:
            yield (
                f"{split}, layer {name}: {counted(actual[0], 'review')} and {counted(actual[1], 'triplet')}, "
                f"manifest.json says {stated_layer[0]} and {stated_layer[1]}"
            )
    for name, key in (("gold", "gold_reviews"), ("unverified negatives", "unverified_negatives")):
        if statistics is not None and statistics.get(key, 0) != held[name]:
            yield f"{split}, {name}: {counted(held[name], 'review')}, manifest.json says {statistics.get(key, 0)}"
