"""What a build dropped, and why: a row of `rejected` for each candidate that the last release does not hold.

In: the database, once `released` and the release's own rows of `rejected` are written. Out: the rows of the other
candidates, each with a reason code and, where a judge decided, its name, score and limit. The same codes are counted
by the query `dropped-by-reason`, whose numbers add up to all candidates.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Any

from builder.core.edges import clashes, overlap
from builder.core.records import Triplet
from builder.store import triplets
from builder.store.reviews import Rejection
from builder.store.triplets import TRIPLET_COLUMNS, restore

STAGE = "self_train"
"""The stage under which candidates are rejected that the release never saw."""


@dataclass(frozen=True, slots=True)
class Selection:
    """How the triplets of a release were chosen: by a variant and its last round, by the score below which the
    judge drops and that from which it is sure (None: it decides nothing by its score), and by the confidence that
    predictions of models needed.
    """

    variant: str
    last: int
    drop: float | None
    sure: float | None
    confidence: float

    @property
    def model(self) -> str:
        """The source of the last round."""
        return f"{self.variant}{self.last}"


@dataclass(frozen=True, slots=True)
class _Candidate:
    """A candidate with all that tells why it is not released. `by`: its sources with their confidences; `judge`,
    `label`, `score`: the verdict; `learnt`: it is in the last training set; `kept`: the release saw it; `labelled`: its
    review is; `gone`: the (reason, detail) why the whole review is left out.
    """

    id: int
    item: str
    split: str | None
    triplet: Triplet
    by: Mapping[str, float | None]
    judge: str | None
    label: str | None
    score: float | None
    learnt: bool
    kept: bool
    labelled: bool
    gone: tuple[str, str] | None


_CANDIDATES = f"""
WITH lost AS (
  SELECT t.id FROM triplets t
  WHERE NOT EXISTS (SELECT 1 FROM released e WHERE e.triplet = t.id)
    AND NOT EXISTS (SELECT 1 FROM rejected x WHERE x.triplet = t.id)
)
SELECT {TRIPLET_COLUMNS}, r.public_id, r.split,
       (SELECT json_group_object(s.name, p.confidence)
        FROM proposals p JOIN sources s ON s.id = p.source WHERE p.triplet = t.id),
       j.name, v.label, v.score,
       EXISTS (SELECT 1 FROM training_sets x WHERE x.variant = :variant AND x.round = :last AND x.triplet = t.id),
       t.id NOT IN (SELECT id FROM lost),
       EXISTS (SELECT 1 FROM labelled_reviews l JOIN sources s ON s.id = l.source
               WHERE l.review = t.review AND s.name IN ('gold', 'silver')),
       (SELECT json_array(x.reason, x.detail) FROM rejected x
        WHERE x.review = t.review AND x.triplet IS NULL AND x.reason <> 'emptied' LIMIT 1)
FROM triplets t JOIN reviews r ON r.id = t.review
LEFT JOIN verdicts v ON v.triplet = t.id LEFT JOIN sources j ON j.id = v.source
WHERE t.review IN (SELECT id >> {triplets.BITS} FROM lost) ORDER BY t.id"""
_OWN = 10
"""Columns of a triplet, which come first."""
_JUDGED = ("judged_no_pair", "judged_polarity", "unsure", "replaced", "outweighed")
"""Reasons with which the judge's score is told."""


def find_drops(connection: sqlite3.Connection, selection: Selection) -> Iterator[Rejection]:
    """The candidates that the release neither holds nor has left out itself, in their order."""
    rows = connection.execute(_CANDIDATES, {"variant": selection.variant, "last": selection.last})
    for review, group in groupby(rows, key=lambda row: int(row[1])):
        candidates = [_candidate(row) for row in group]
        kept = [candidate for candidate in candidates if candidate.kept]
        for candidate in candidates:
            if not candidate.kept:
                yield _reject(candidate, kept, review, selection)


def _candidate(row: Sequence[Any]) -> _Candidate:
    stored = restore(tuple(row[:_OWN]))
    public, split, by, judge, label, score, learnt, kept, labelled, gone = row[_OWN:]
    item = f"{public}:{stored.id & triplets.HASH:08x}"
    return _Candidate(
        stored.id, item, split, stored.triplet, json.loads(by), judge, label, score, bool(learnt), bool(kept),
        bool(labelled), gone and tuple(json.loads(gone)),
    )  # fmt: skip


def _reject(candidate: _Candidate, kept: Sequence[_Candidate], review: int, selection: Selection) -> Rejection:
    reason, detail = _explain(candidate, kept, selection)
    rejection = Rejection(candidate.item, reason, detail, review, candidate.id)
    if reason not in _JUDGED or candidate.score is None:
        return rejection
    limit = selection.sure if reason == "outweighed" else selection.drop
    if limit is not None and candidate.score >= limit:
        limit = None
    detail += f"; {candidate.judge} gives it {candidate.score:.3f} ({candidate.label or 'abstains'})"
    detail += f", below its limit of {limit:.3g}" if limit is not None else ""
    return rejection._replace(detail=detail, judge=candidate.judge, score=candidate.score, score_limit=limit)


def _explain(candidate: _Candidate, kept: Sequence[_Candidate], selection: Selection) -> tuple[str, str]:
    """Reason code and detail of a candidate that is not released."""
    if candidate.labelled and candidate.split == "test":
        return "labelled", "this review is labelled, and its labels do not say this"
    proposed = _is_proposed(candidate, selection)
    if candidate.gone and (proposed or candidate.split is None):
        reason, detail = candidate.gone
        return reason, f"its review is left out: {detail}"
    rival = next((other for other in kept if clashes(other.triplet, candidate.triplet)), None)
    if rival is not None:
        words = f"{rival.triplet.aspect.text}, {rival.triplet.opinion.text}, {rival.triplet.polarity}"
        return "replaced", f"({words}) stands in its place, {rival.item}"
    if candidate.label == "NX":
        return "judged_no_pair", "opinion and aspect do not belong together"
    if candidate.label == "YN":
        return "judged_polarity", "the polarity is doubted"
    triplet = candidate.triplet
    surer = next((other for other in kept if _outweighs(other, candidate, selection)), None)
    if surer is not None:
        words = f"{surer.triplet.aspect.text}, {surer.triplet.opinion.text}"
        return "outweighed", f"the judge is surer of ({words}), {surer.item}"
    for other in (one.triplet for one in kept if one.triplet.opinion.text == triplet.opinion.text):
        same_aspect = overlap(other.aspect_full, triplet.aspect_full)
        # what E holds of one mention it says once
        again = same_aspect if selection.variant == "E" else other.opinion == triplet.opinion
        if again and "rules" in candidate.by and other.polarity == triplet.polarity:
            return "duplicate", f"with other words it became one with ({other.aspect.text}, {other.opinion.text})"
    return _explain_unjudged(candidate, selection)


def _outweighs(other: _Candidate, candidate: _Candidate, selection: Selection) -> bool:
    """Whether the judge is sure of a released triplet that says of another aspect what a less sure one of the rules
    says; only variant E drops by that.
    """
    if selection.sure is None or candidate.score is None or other.score is None or "rules" not in candidate.by:
        return False
    surer = other.score >= selection.sure > candidate.score
    same_opinion = overlap(other.triplet.opinion_full, candidate.triplet.opinion_full)
    return surer and same_opinion and not overlap(other.triplet.aspect_full, candidate.triplet.aspect_full)


def _is_proposed(candidate: _Candidate, selection: Selection) -> bool:
    """Whether the sources that the candidate's split is made of have it."""
    if selection.variant == "E":
        return selection.model in candidate.by
    if candidate.split == "train":
        return candidate.learnt
    return "rules" in candidate.by or (candidate.split == "test" and selection.model in candidate.by)


def _explain_unjudged(candidate: _Candidate, selection: Selection) -> tuple[str, str]:
    """The same where no verdict speaks against it."""
    by = candidate.by
    held = f"the release holds what variant {selection.variant} does"
    models = [name for name in by if name[:1] == selection.variant and name[1:].isdigit()]
    surest = max((by[name] or 0.0 for name in models), default=0.0)
    if "rules" not in by and models and surest < selection.confidence:
        return "unsure", f"confidence {surest:.3f} is below self_train.confidence {selection.confidence:g}"
    if models == [selection.model] and "rules" not in by:
        return "not_learnt", f"only {selection.model}, trained on the last training set, proposes it"
    return "not_held", f"{held}, which did not take up what {', '.join(by)} proposes"
