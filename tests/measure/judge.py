"""How far can a judge of the rules' triplets come: `python tests/measure/judge.py WORKDIR DATA_DIR`.

WORKDIR is that of a build with verdicts, DATA_DIR holds the dimABSA files. Takes the rules' triplets on sentences that
the build read, right where gold holds them (lenient), and prints for several orders of them the area under the ROC
curve and the share of the wrong ones that a threshold catches which keeps 90% of the right ones: the panel's P(YY);
simple signals; and a logistic regression of all of them that is taught the human labels of four fifths of the
sentences and asked about the rest. That last is no system but a ceiling: what these signals could do if somebody told
how to weigh them.
"""

from __future__ import annotations

import argparse
import hashlib
from collections import defaultdict
from collections.abc import Iterable
from pathlib import Path

import numpy as np
from dimabsa import gold
from numpy.typing import NDArray
from variants import right, stored

from builder.core.records import StoredTriplet
from builder.store import db, triplets

KEPT = 0.9
FOLDS = 5
Vector = NDArray[np.float64]


def features(found: Iterable[StoredTriplet], chance: dict[int, float]) -> tuple[list[str], dict[int, list[float]]]:
    """By triplet: the judge's log-odds, their mean over other triplets of the opinion, the phrase, the aspect,
    and what can be counted.
    """
    every = [(one.id, one.triplet) for one in found if one.id in chance]
    odds = {i: float(np.log(p / (1 - p))) for i, _ in every for p in (min(max(chance[i], 1e-3), 1 - 1e-3),)}
    mean = sum(odds.values()) / len(odds)
    groups: dict[tuple[str, str], list[float]] = defaultdict(list)
    for i, t in every:
        for kind, word in (("opinion", t.opinion.text), ("phrase", t.opinion_full.text), ("aspect", t.aspect.text)):
            groups[kind, word].append(odds[i])

    def others(kind: str, word: str, own: float) -> float:
        group = groups[kind, word]
        return (sum(group) - own + 5 * mean) / (len(group) + 4)

    names = [
        "panel",
        "panel, same opinion",
        "panel, same phrase",
        "panel, same aspect",
        "count of opinion",
        "distance",
        "opinion last",
        "POS",
        "NEG",
        "valence",
    ]
    return names, {
        i: [
            odds[i],
            others("opinion", t.opinion.text, odds[i]),
            others("phrase", t.opinion_full.text, odds[i]),
            others("aspect", t.aspect.text, odds[i]),
            float(np.log(len(groups["opinion", t.opinion.text]))),
            -float(min(abs(t.opinion.start - t.aspect.end), abs(t.aspect.start - t.opinion.end))),
            float(t.aspect.start < t.opinion.start),
            float(t.polarity == "POS"),
            float(t.polarity == "NEG"),
            abs(t.valence - 5),
        ]
        for i, t in every
    }  # fmt: skip


def logistic(x: Vector, y: Vector, ridge: float = 1.0, steps: int = 25) -> Vector:
    """Weights by Newton's method."""
    w = np.zeros(x.shape[1])
    for _ in range(steps):
        p = 1 / (1 + np.exp(-x @ w))
        hessian = (x * (p * (1 - p))[:, None]).T @ x + ridge * np.eye(len(w))
        w = w - np.linalg.solve(hessian, x.T @ (p - y) + ridge * w)
    return w


def taught(x: Vector, y: Vector, fold: Vector) -> Vector:
    z = np.hstack([(x - x.mean(0)) / x.std(0), np.ones((len(x), 1))])
    out = np.zeros(len(y))
    for k in range(FOLDS):
        out[fold == k] = z[fold == k] @ logistic(z[fold != k], y[fold != k])
    return out


def tell(name: str, score: Vector, ok: Vector) -> None:
    good, bad = score[ok == 1], np.sort(score[ok == 0])
    area = (np.searchsorted(bad, good, "left") + np.searchsorted(bad, good, "right")).sum() / 2 / len(good) / len(bad)
    print(f"{name:34} area {area:.3f}, catches {100 * (bad < np.quantile(good, 1 - KEPT)).mean():.1f}%")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("workdir", type=Path)
    parser.add_argument("data", type=Path)
    options = parser.parse_args()
    due = gold(options.data)
    with db.reading(options.workdir) as connection:
        ids = dict(connection.execute("SELECT text, id FROM reviews WHERE duplicate_of IS NULL AND split IS NOT NULL"))
        at = {key: ids[text] for key, (text, _) in due.items() if text in ids}
        rules, judge = triplets.source_id(connection, "rules"), triplets.source_id(connection, "discriminator")
        assert rules is not None and judge is not None, "a build up to the stage discriminate is needed"
        found = stored(connection, "rules", at)
        every = [one for split in ("train", "valid", "test") for one in triplets.proposed(connection, rules, split)]
        names, signals = features(every, triplets.scores(connection, judge))
    rows = [
        (key, i, ok, paired)
        for key in at
        for (i, answer, _), ok in zip(found[key], right(due[key][1], [a for _, a, _ in found[key]]), strict=True)
        if i in signals
        for paired in right([(*pair, "POS") for *pair, _ in due[key][1]], [(*answer[:2], "POS")])
    ]
    x, ok, paired = (
        np.array(part, dtype=float)
        for part in zip(*((signals[i], ok, paired) for _, i, ok, paired in rows), strict=True)
    )
    fold = np.array([hashlib.sha256(key.encode()).digest()[0] % FOLDS for key, *_ in rows])
    print(
        f"{len(rows):,} triplets of the rules, {100 * ok.mean():.1f}% right; "
        f"of the wrong, by a threshold that keeps {100 * KEPT:.0f}% of the right"
    )
    for name, column in zip(names, x.T, strict=True):
        tell(name, column, ok)
    tell("all of them, taught human labels", taught(x, ok, fold), ok)
    wrong = (ok == 0) & (paired == 1)
    print(f"wrong by polarity alone: {100 * wrong.sum() / (ok == 0).sum():.1f}% of the wrong ones; without these")
    tell(names[0], x[~wrong, 0], ok[~wrong])


if __name__ == "__main__":
    main()
