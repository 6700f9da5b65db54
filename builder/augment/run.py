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

from builder.augment import constraints, proposing
from builder.augment.constraints import Cues, Trial, bad_edits, broken, make_trial, respaced, spelt
from builder.augment.records import Edit, Method, Rewrite, Sentence
from builder.augment.settings import AugmentSettings, Given, make_method
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


@dataclass(slots=True)
class Sieve:
    """Keeps up to `copies` candidates a sentence, the first that pass. `refused` says of a text that it shows personal
    data; `label_safe` False leaves out the constraints of `LABEL_SAFE`.
    """

    copies: int
    cues: Cues
    seen: Seen
    refused: Callable[[str], bool] = lambda text: False
    label_safe: bool = True
    kept: dict[str, list[Trial]] = field(default_factory=dict)
    rejected: list[Rejected] = field(default_factory=list)
    proposed: Counter[str] = field(default_factory=Counter)

    def sift(self, proposals: Iterable[tuple[Sentence, Sequence[Rewrite]]]) -> None:
        """Keep or reject the candidates of each sentence."""
        for sentence, candidates in proposals:
            if not candidates and sentence.id not in self.kept:
                self.rejected.append(Rejected(sentence.id, NOTHING))
            self.proposed[sentence.id] += len(candidates)
            kept = self.kept.setdefault(sentence.id, [])
            for candidate in candidates:
                trial = make_trial(sentence, candidate, self.cues)
                if reason := self._reason(trial, len(kept)):
                    self.rejected.append(Rejected(sentence.id, reason, candidate.edits))
                else:
                    kept.append(trial)
                    self.seen.keep(trial)

    def _reason(self, trial: Trial, taken: int) -> str | None:
        if bad_edits(trial):  # nothing else can be said of it
            return "bad-edits"
        if reason := broken(trial, self.label_safe) or self.seen.reason(trial):
            return reason
        if self.refused(trial.text):
            return "personal-data"
        return "surplus" if taken >= self.copies else None

    def lacking(self, sentences: Iterable[Sentence]) -> list[Sentence]:
        """The sentences that keep fewer candidates than asked for."""
        return [sentence for sentence in sentences if len(self.kept[sentence.id]) < self.copies]

    @property
    def judgement(self) -> Judgement:
        """What was kept, in the order of the sentences, and what was rejected."""
        kept = tuple(trial for own in self.kept.values() for trial in own)
        return Judgement(kept, tuple(self.rejected), self.proposed.total(), len(+self.proposed))


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


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """What a user asks for, of a release or a file. `candidates` are proposed a sentence, up to `copies` kept; `limit`
    takes so many sentences by chance (0: all).
    """

    method: str
    workdir: Path
    settings: AugmentSettings
    copies: int = 4
    candidates: int = 4
    seed: int = 13
    limit: int = 0
    workers: int = 1
    engine: str = "local"
    scheduler: str = ""


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
    return make_method(request.method, replace(request.settings, given=request.given))


def judge_proposals(
    request: Request, method: Method, workdir: Path | None = None, crew: Crew | None = None
) -> Judgement:
    """What is kept and what is rejected of the method's proposals, in the order of the sentences.

    Where `redraws` allow it, sentences that keep too few are asked for more candidates by another seed.
    """
    settings, given = replace(request.settings, given=request.given), request.given
    chinese = given.language == "zh"
    cues = constraints.chinese(given.folders.load_lexicon()) if chinese else constraints.english_cues()
    sieve = Sieve(request.copies, cues, request.seen, request.private, settings.label_safe)
    sentences: Sequence[Sentence] = given.sentences
    for draw in range(1 + settings.redraws):
        candidates, seed = request.candidates * (1 + draw), request.seed + draw
        if crew is None or workdir is None:
            proposals = method.propose(sentences, candidates, seed)
        else:
            asked = proposing.Asked(request.method, sentences, candidates, seed)
            proposals = proposing.proposals(asked, settings, method, workdir, crew)
        sieve.sift(zip(sentences, proposals, strict=True))
        if not (sentences := sieve.lacking(sentences)):
            break
    return sieve.judgement


def draw_places(ids: Sequence[str], limit: int, seed: int) -> list[int]:
    """The places of all ids, or of `limit` of them drawn by the seed, in their order."""
    places = list(range(len(ids)))
    if not limit or limit >= len(ids):
        return places
    return sorted(sorted(places, key=lambda at: sha256(f"{seed} {ids[at]}".encode()))[:limit])
