"""The driver of augmentation: sentences go in, what the constraints keep of a method's proposals comes out.

A release (builder.augment.run_release), a file (builder.augment.run_file) and a bench (builder.augment.bench.augmented)
only read, write and say which texts may not be made. With a crew, proposals are made in chunks that are kept under the
working directory; without, at once.

From proposals to what is kept: every candidate is kept or rejected with a reason code, and counted. Pure.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence, Set
from dataclasses import dataclass, field, replace
from pathlib import Path

from builder.augment import catalog, constraints, proposing
from builder.augment.constraints import Cues, Trial, bad_edits, broken, make_trial, respaced, spelt
from builder.augment.records import Edit, Method, Rewrite, Sentence
from builder.augment.settings import AugmentSettings, Given
from builder.core.shards import Crew
from builder.release.manifest import sha256

NOTHING = "nothing-to-change"
"""The reason of a sentence to which a method does not apply."""


@dataclass(frozen=True, slots=True)
class Rejected:
    """A candidate (or, without edits, a whole sentence) that is not used, and why."""

    source: str
    reason: str
    edits: tuple[Edit, ...] = ()


def count_reasons(rejected: Iterable[Rejected]) -> dict[str, int]:
    """How many were rejected for each reason, by name."""
    return dict(sorted(Counter(rejection.reason for rejection in rejected).items()))


@dataclass(frozen=True, slots=True)
class Judgement:
    """`kept` in order; `proposed` candidates in all, `sources` sentences that any were proposed for."""

    kept: tuple[Trial, ...]
    rejected: tuple[Rejected, ...]
    proposed: int
    sources: int

    @property
    def reasons(self) -> dict[str, int]:
        return count_reasons(self.rejected)


@dataclass(slots=True)
class Seen:
    """Texts that may not come again, by what `key` makes of them: those of the source split, those held out, and
    those kept so far.

    `apart` tells two sentences of one text apart where the format does: by the aspect that is judged.
    """

    key: Callable[[str], str]
    sources: Set[str]
    held_out: Set[str]
    apart: Callable[[Sentence], str] = lambda sentence: ""
    kept: set[tuple[str, str]] = field(default_factory=set)

    def reason(self, trial: Trial) -> str | None:
        if self.key(trial.text) in self.held_out:
            return "held-out"
        known = self._known(trial)
        return (
            "in-source"
            if known in self.sources
            else "duplicate"
            if (known, self.apart(trial.source)) in self.kept
            else None
        )

    def keep(self, trial: Trial) -> None:
        self.kept.add((self._known(trial), self.apart(trial.source)))

    def _known(self, trial: Trial) -> str:
        """What `key` makes of it; its words where they differ from its own source's by a space alone, which `key`
        does not see.
        """
        known = self.key(trial.text)
        return " ".join(spelt(trial.text)) if respaced(trial) and known == self.key(trial.source.text) else known


def judge(
    proposals: Iterable[tuple[Sentence, Sequence[Rewrite]]],
    copies: int,
    cues: Cues,
    seen: Seen,
    refused: Callable[[str], bool] = lambda text: False,
) -> Judgement:
    """Keep up to `copies` a sentence, the first that pass. `refused` says of a text that it shows personal data."""
    kept: list[Trial] = []
    rejected: list[Rejected] = []
    proposed = sources = 0
    for sentence, candidates in proposals:
        proposed, sources = proposed + len(candidates), sources + bool(candidates)
        if not candidates:
            rejected.append(Rejected(sentence.id, NOTHING))
        taken = 0
        for candidate in candidates:
            trial = make_trial(sentence, candidate, cues)
            reason = _reason(trial, taken >= copies, seen, refused)
            if reason is None:
                kept.append(trial)
                seen.keep(trial)
                taken += 1
            else:
                rejected.append(Rejected(sentence.id, reason, candidate.edits))
    return Judgement(tuple(kept), tuple(rejected), proposed, sources)


def _reason(trial: Trial, full: bool, seen: Seen, refused: Callable[[str], bool]) -> str | None:
    if bad_edits(trial):  # nothing else can be said of it
        return "bad-edits"
    if reason := broken(trial) or seen.reason(trial):
        return reason
    if refused(trial.text):
        return "personal-data"
    return "surplus" if full else None


def lost(judged: Judgement, gone: Set[int], reason: str) -> Judgement:
    """`judged` without the kept candidates at some indices, which are rejected for `reason`."""
    return Judgement(
        tuple(trial for n, trial in enumerate(judged.kept) if n not in gone),
        (
            *judged.rejected,
            *(Rejected(judged.kept[n].source.id, reason, judged.kept[n].candidate.edits) for n in sorted(gone)),
        ),
        judged.proposed,
        judged.sources,
    )


@dataclass(frozen=True, slots=True)
class Request:
    """What is asked of a method: `candidates` proposals a sentence of `given`, of which up to `copies` are kept;
    `seen` are the texts that may not be made, `private` says which show personal data.
    """

    method: str
    settings: AugmentSettings
    given: Given
    copies: int
    candidates: int
    seed: int
    seen: Seen
    private: Callable[[str], bool] = lambda text: False


def load_method(request: Request) -> Method:
    """The method with its settings and all that it may learn from."""
    return catalog.load(request.method, replace(request.settings, given=request.given))


def judge_proposals(
    request: Request, method: Method, workdir: Path | None = None, crew: Crew | None = None
) -> Judgement:
    """What is kept and what is rejected of the method's proposals, in the order of the sentences."""
    sentences = request.given.sentences
    if crew is None or workdir is None:
        proposals = method.propose(sentences, request.candidates, request.seed)
    else:
        settings = replace(request.settings, given=request.given)
        proposals = proposing.proposals(
            request.method, settings, method, request.candidates, request.seed, workdir, crew
        )
    words = (
        constraints.chinese(request.given.folders.load_lexicon())
        if request.given.language == "zh"
        else constraints.english_cues()
    )
    return judge(zip(sentences, proposals, strict=True), request.copies, words, request.seen, request.private)


def draw_places(ids: Sequence[str], limit: int, seed: int) -> list[int]:
    """The places of all ids, or of `limit` of them drawn by the seed, in their order."""
    places = list(range(len(ids)))
    if not limit or limit >= len(ids):
        return places
    return sorted(sorted(places, key=lambda at: sha256(f"{seed} {ids[at]}".encode()))[:limit])
