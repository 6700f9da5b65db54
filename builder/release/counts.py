"""Whether the counts of a split are those that the manifest states. In: both. Out: faults, a line each. Pure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Any

from builder.records import POLARITIES


def count_faults(
    split: str, facts: Mapping[str, Any], counted: Counter[str], statistics: Mapping[str, Any] | None
) -> Iterator[str]:
    """What `counted` in the files of a split differs in from the manifest's `facts` about it, and its statistics."""
    stated = facts.get("reviews"), facts.get("triplets")
    if stated != (counted["reviews"], counted["triplets"]):
        yield (
            f"{split}: {counted['reviews']} reviews and {counted['triplets']} triplets, "
            f"manifest.json says {stated[0]} and {stated[1]}"
        )
    polarities = {name: counted[name] for name in POLARITIES}
    if facts.get("polarities") != polarities:
        yield f"{split}: polarities {polarities}, manifest.json says {facts.get('polarities')}"
    for layer in facts.get("layers", ()):
        name, stated_layer = layer["annotation"], (layer["reviews"], layer["triplets"])
        actual = counted[f"{name} layer"], counted[f"{name} triplets"]
        if stated_layer != actual:
            yield (
                f"{split}, layer {name}: {actual[0]} reviews and {actual[1]} triplets, "
                f"manifest.json says {stated_layer[0]} and {stated_layer[1]}"
            )
    for name, key in (("gold", "gold_reviews"), ("unverified negatives", "unverified_negatives")):
        if statistics is not None and statistics.get(key, 0) != counted[name]:
            yield f"{split}: {counted[name]} reviews are {name}, manifest.json says {statistics.get(key, 0)}"
