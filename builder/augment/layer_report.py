"""What a child release says of its new layer: a part of the manifest, and the lines of what was rejected.

In: the plan, the parent, what was judged and measured. Out: the manifest's entry, and rejected/SPLIT-LAYER.jsonl.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence

from builder.augment import child_release
from builder.augment.records import Method
from builder.augment.release_plan import TRAIN, AugmentPlan
from builder.augment.run import Judgement, Rejected, count_reasons
from builder.augment.settings import relevant_settings
from builder.release.reading import Existing


def describe_layer(
    plan: AugmentPlan,
    parent: Existing,
    method: Method,
    taken: Mapping[str, object],
    skipped: Sequence[Rejected],
    judged: Judgement,
    sentences: int,
) -> dict[str, object]:
    """The layer's entry in the manifest: all that decided it, and what was measured."""
    return {
        "split": TRAIN,
        "rows": len(judged.kept),
        "sources": sentences,
        "view": plan.view,
        "keep": plan.keep,
        "method": plan.method,
        "signature": method.signature,
        "model_digest": getattr(method, "digest", None),
        "seed": plan.seed,
        "copies": plan.copies,
        "candidates": plan.candidates,
        "limit": plan.limit,
        "config": relevant_settings(plan.settings, plan.method),
        "parent": {
            "name": parent.manifest["name"],
            "version": parent.manifest["version"],
            "digest": child_release.digest(parent.path),
        },
        "rejected": count_reasons([*skipped, *judged.rejected]),
        "measures": dict(taken),
    }


def write_rejected(rejected: Sequence[Rejected]) -> bytes:
    """The lines of rejected/SPLIT-LAYER.jsonl; what shows personal data goes without its words."""
    return "".join(
        json.dumps(
            {"sentence": rejection.source, "reason": rejection.reason, "edits": _shown_edits(rejection)},
            ensure_ascii=False,
        )
        + "\n"
        for rejection in rejected
    ).encode()


def _shown_edits(rejection: Rejected) -> list[list[object]]:
    if rejection.reason == "personal-data":
        return []
    return [[edit.start, edit.end, edit.text] for edit in rejection.edits]
