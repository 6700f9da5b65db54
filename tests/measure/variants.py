"""Every system of a working directory against human gold: `python tests/measure/variants.py WORKDIR DATA_DIR`.

WORKDIR is that of a build, DATA_DIR holds the dimABSA files. A sentence that is a review of the build gets the
triplets that the build stored for it (for variant E those of taggers that were not trained on it); the others are
extracted with the build's models. Prints lenient micro P, R, F1 per system; what the discriminator catches of the
wrong and keeps of the right rule triplets; and how many triplets with an opinion that no lexicon holds are right
(Table 6 of the paper).
"""

from __future__ import annotations

import argparse
import sqlite3
from pathlib import Path

from dimabsa import Gold, gold

from builder.core.records import StoredTriplet
from builder.gold.metrics import Answer, micro
from builder.language.lexicon.resources import load_lexicon, overlays
from builder.models.text_reading import in_place
from builder.pipeline.extraction import open_system
from builder.store import db, triplets

Found = dict[str, list[tuple[int, Answer, str]]]
"""Per sentence: triplet id (0 where none is stored), answer, opinion."""


def stored(connection: sqlite3.Connection, system: str, at: dict[str, int]) -> Found:
    """What the build holds for the sentences that it read."""
    source = triplets.source_id(connection, system)
    assert source is not None, system
    by_review: dict[int, list[StoredTriplet]] = {}
    for split in ("train", "valid", "test"):
        for one in triplets.proposed(connection, source, split):
            by_review.setdefault(one.review, []).append(one)
    return {
        key: [
            (t.id, (t.triplet.aspect.text, t.triplet.opinion.text, t.triplet.polarity), t.triplet.opinion.text)
            for t in sorted(by_review.get(i, ()), key=lambda one: in_place(one.triplet))
        ]
        for key, i in at.items()
    }


def extracted(workdir: Path, system: str, texts: dict[str, str]) -> Found:
    found = open_system(workdir, system, "natural").extract(list(texts.values()))
    return {
        key: [(0, (t.aspect.text, t.opinion.text, t.polarity), t.opinion.text) for t in own]
        for key, own in zip(texts, found, strict=True)
    }


def right(due: list[Answer], told: list[Answer]) -> list[bool]:
    """Whether each answer has a gold triplet that it matches."""
    return [micro({"": due}, {"": [answer]}, "lenient").right == 1 for answer in told]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("workdir", type=Path)
    parser.add_argument("data", type=Path)
    options = parser.parse_args()
    due: Gold = gold(options.data)
    flat = {key: answers for key, (_, answers) in due.items()}
    lexicon = load_lexicon(overlays=overlays(options.workdir))
    with db.reading(options.workdir) as connection:
        ids = dict(connection.execute("SELECT text, id FROM reviews WHERE duplicate_of IS NULL AND split IS NOT NULL"))
        at = {key: ids[text] for key, (text, _) in due.items() if text in ids}
        left = {key: text for key, (text, _) in due.items() if key not in at}
        systems = [
            name
            for (name,) in connection.execute("SELECT name FROM sources WHERE kind IN ('rules', 'model') ORDER BY id")
        ]
        judge = triplets.source_id(connection, "discriminator")
        labels = triplets.verdicts(connection, judge) if judge is not None else {}
        scores = dict(connection.execute("SELECT triplet, score FROM verdicts WHERE source = ?", (judge,)))
        print(f"{len(due):,} sentences, {len(at):,} of them read by the build")
        for system in systems:
            found = stored(connection, system, at) | extracted(options.workdir, system, left)
            told = {key: [answer for _, answer, _ in listed] for key, listed in found.items()}
            for name, part in (("all", flat), ("not read", {key: flat[key] for key in left})):
                score = micro(part, told, "lenient")
                print(f"{system:6} {name:9} P {score.precision:.1f} R {score.recall:.1f} F1 {score.f1:.1f}")
            good = {key: right(flat[key], told[key]) for key in found}
            new = [
                ok
                for key, listed in found.items()
                for (_, _, opinion), ok in zip(listed, good[key], strict=True)
                if not lexicon.knows(opinion)
            ]
            print(f"{system:6} out of lexicon: {len(new)}, right {100 * sum(new) / max(1, len(new)):.1f}%")
            if system == "rules" and labels:
                known = [
                    (i, ok) for key in at for (i, _, _), ok in zip(found[key], good[key], strict=True) if i in labels
                ]
                _tell("by its labels", [(labels[i] in ("YY", None), ok) for i, ok in known])
                for least in (0.2, 0.3, 0.5, 0.7):
                    _tell(f"P(YY) at least {least}", [(scores[i] >= least, ok) for i, ok in known])


def _tell(how: str, kept: list[tuple[bool, bool]]) -> None:
    """`kept`: whether the discriminator leaves a rule triplet in, and whether it is right."""
    right_kept, wrong_kept = ([one for one, ok in kept if ok is good] for good in (True, False))
    caught = 100 * wrong_kept.count(False) / max(1, len(wrong_kept))
    print(
        f"discriminator, {how}: keeps {100 * sum(right_kept) / max(1, len(right_kept)):.1f}% of {len(right_kept)}, "
        f"catches {caught:.1f}% of {len(wrong_kept)}"
    )


if __name__ == "__main__":
    main()
