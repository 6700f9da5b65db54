"""Variant E: two views of a review check each other. In: the rules' triplets and the taggers' proposals. Out: what
both together hold.

The rules know words and grammar, the models know what stands where in reviews; they err at different places (Blum and
Mitchell 1998). A rule triplet whose pair the judge (builder.models.panel) finds improbable goes, where
the judge may doubt it (`TrustLimits.place`). One whose aspect the taggers take longer gets their aspect (the rules stop
at a word they do not know: 豆花 of 三色豆花). A proposal of which the taggers are sure and that no rule triplet
contradicts comes in, with the polarity that the rules would give it. A polarity of the rules stands: where the judge
has another, the rules are right as often. Any trust in the panel adds and lengthens, and drops in proportion; without
any, the rules' triplets stay. A tagger never speaks of a review that it was trained on: there are k folds of reviews,
and k taggers, each trained without one of them; on a review that none has seen they speak together.
"""

from __future__ import annotations

import hashlib
import json
import shutil
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from builder.core.edges import clashes, shared, tidied
from builder.core.errors import ModelError
from builder.core.files import read_settings, write_atomically
from builder.core.machine import give_back
from builder.core.records import Triplet
from builder.engine import Doc, RuleEngine
from builder.learning.processes import helped, launched, rank, spread
from builder.learning.task import Example, PackedExamples, Progress, TaggerConfig
from builder.models.foundation import Foundation
from builder.models.saved import load, save
from builder.models.tagger import Proposal, Tagger, in_place, propose, settle, train_tagger
from builder.models.trust import WIDEN, TrustLimits

FLOOR = 0.02
"""Proposals below are not looked at."""


def fold_of(key: str, folds: int) -> int:
    """The fold of a review, from its key alone: other reviews change nothing."""
    return int.from_bytes(hashlib.sha256(key.encode("utf-8", "surrogatepass")).digest()[:8]) % folds


def digest_text(text: str) -> str:
    """Tells a review by its view."""
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:24]


@dataclass(frozen=True, slots=True, eq=False)
class Taggers:
    """k taggers; the one at place f was trained without the reviews of fold f.

    `taught`: by the digest of its text, the fold of a review whose labels the other taggers learnt
    (builder.models.tuning); only the one of that fold speaks of it.
    """

    members: tuple[Tagger, ...]
    taught: Mapping[str, int] = field(default_factory=dict)

    @property
    def digest(self) -> str:
        return hashlib.sha256(" ".join(member.digest for member in self.members).encode()).hexdigest()[:16]

    def proposals(self, texts: Sequence[str], progress: Progress | None = None) -> list[list[Proposal]]:
        """What all together propose for texts that none was trained on."""
        every = self.each(texts, progress)
        out = [together(proposals) for proposals in zip(*every, strict=True)]
        for i, text in enumerate(texts if self.taught else ()):
            if (fold := self.taught.get(digest_text(text))) is not None:
                out[i] = every[fold][i]
        return out

    def each(self, texts: Sequence[str], progress: Progress | None = None) -> list[list[list[Proposal]]]:
        """What each tagger proposes, by tagger and text."""
        return [_proposals(member, texts, progress) for member in self.members]

    def apart(
        self, keys: Sequence[str], texts: Sequence[str], progress: Progress | None = None
    ) -> list[list[Proposal]]:
        """For each review, by its key, what the tagger proposes that was not trained on it."""
        out: list[list[Proposal]] = [[] for _ in keys]
        folds = [
            self.taught.get(digest_text(text), fold_of(key, len(self.members)))
            for key, text in zip(keys, texts, strict=True)
        ]
        for fold, member in enumerate(self.members):
            own = [i for i, place in enumerate(folds) if place == fold]
            for i, proposals in zip(own, _proposals(member, [texts[i] for i in own], progress), strict=True):
                out[i] = proposals
        return out


@dataclass(frozen=True, slots=True, eq=False)
class FoldTraining:
    """What the taggers of all folds are trained on, and the folder that they are saved in."""

    train: Sequence[Example]
    valid: Sequence[Example]
    folds: int
    config: TaggerConfig
    seed: int
    folder: Path
    foundation: Foundation | None

    def train_fold(self, fold: int, progress: Progress | None) -> Tagger:
        """The tagger that does not see the reviews of a fold, trained and saved."""
        others = PackedExamples(review for review in self.train if fold_of(review.id, self.folds) != fold)
        checkpoints = self.folder / f"{fold}.training"
        tagger = train_tagger(others, self.valid, self.config, self.seed, checkpoints, progress, self.foundation)
        save(tagger, self.folder / str(fold))
        return tagger

    def train_at_once(self, processes: int, progress: Progress | None) -> list[Tagger]:
        """The taggers of all folds, each trained by one of `processes`, on a GPU or on threads of its own. Without
        GPUs this process is one of them.
        """
        if self.foundation:
            spread(_train_own_folds, (self,), processes, progress)
        else:
            with helped(_train_own_folds, (self,), processes) as check:
                for fold in range(0, self.folds, processes):
                    self.train_fold(fold, _checking(check, progress))
        device = str(self.foundation.device) if self.foundation else "cpu"
        trained = [load(self.folder / str(fold), device) for fold in range(self.folds)]
        return [tagger for tagger in trained if isinstance(tagger, Tagger)]


def _checking(check: Callable[[], bool], progress: Progress | None) -> Progress:
    """Progress that looks after the other processes, too."""

    def report(done: int, total: int, note: str) -> None:
        check()
        if progress:
            progress(done, total, note)

    return report


def _train_own_folds(progress: Progress | None, arguments: tuple[FoldTraining]) -> None:
    """In one of several processes: every n-th fold, beginning with that of its rank."""
    (training,) = arguments
    for fold in range(rank(), training.folds, launched()):
        training.train_fold(fold, progress)


def train_taggers(
    train: Sequence[Example],
    valid: Sequence[Example],
    folds: int,
    config: TaggerConfig,
    seed: int,
    folder: Path,
    progress: Progress | None = None,
    foundation: Foundation | None = None,
) -> Taggers:
    """One tagger a fold, from the same base weights, saved as `folder`/0, /1 …; ModelError where a fold leaves
    nothing to learn from. Where the foundation has several GPUs, each trains folds of its own. Without a foundation
    the folds share out the threads: steps are so short that two threads of one training mostly wait for each other.
    """
    processes = min(folds, foundation.training_processes if foundation else config.threads)
    if not foundation:
        config = replace(config, threads=config.threads // processes)
    training = FoldTraining(train, valid, folds, config, seed, folder, foundation)
    if processes > 1:
        members = training.train_at_once(processes, progress)
    else:
        members = [training.train_fold(fold, progress) for fold in range(folds)]
    give_back()
    for other in filter(_is_member, folder.iterdir()):  # of a training with more folds
        if _fold_in_name(other) >= folds:
            shutil.rmtree(other)
    taggers = Taggers(tuple(members))
    save_taggers(taggers, folder)
    return taggers


def save_taggers(taggers: Taggers, folder: Path) -> None:
    """Write what holds the members together; they are saved in the same folder."""
    held_together = {"digest": taggers.digest, "taught": taggers.taught}
    write_atomically(folder / "taggers.json", (json.dumps(held_together, sort_keys=True) + "\n").encode())


def load_taggers(folder: Path, device: str = "auto") -> Taggers:
    """What `train_taggers` wrote; ModelError where a part is missing or another's."""
    path = folder / "taggers.json"
    try:
        settings = json.loads(read_settings(path))
        digest = settings["digest"]
        taught = {str(text): int(fold) for text, fold in settings.get("taught", {}).items()}
    except (OSError, ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        raise ModelError(f"no readable taggers: {error!r}", where=str(path), fix="train them again") from error
    members = [load(path, device) for path in sorted(filter(_is_member, folder.iterdir()), key=_fold_in_name)]
    taggers = Taggers(tuple(member for member in members if isinstance(member, Tagger)), taught)
    if taggers.digest != digest:
        raise ModelError(
            "the members are not those that were trained together", where=str(folder), fix="train them again"
        )
    return taggers


def _is_member(path: Path) -> bool:
    return path.name.isdigit()


def _fold_in_name(path: Path) -> int:
    return int(path.name)


def _proposals(member: Tagger, texts: Sequence[str], progress: Progress | None) -> list[list[Proposal]]:
    return propose(member.network, member.foundation, member.config, texts, FLOOR, progress)


def together(members: Sequence[Sequence[Proposal]]) -> list[Proposal]:
    """The proposals of several taggers for one text as those of one: the mean probability of each pair of spans, a
    pair that a member does not name counting 0 there, with the polarity that has most of the mass.
    """
    mass: dict[object, dict[str, float]] = {}
    best: dict[tuple[object, str], Triplet] = {}
    for proposals in members:
        for chance, triplet in proposals:
            pair: object = (triplet.aspect_full.spans, triplet.opinion_full.spans)
            shares = mass.setdefault(pair, {})
            shares[triplet.polarity] = shares.get(triplet.polarity, 0.0) + chance
            known = best.get((pair, triplet.polarity))
            if known is None or (known.confidence or 0.0) < (triplet.confidence or 0.0):
                best[pair, triplet.polarity] = triplet
    out = []
    for place, shares in mass.items():
        polarity = max(sorted(shares), key=lambda label: shares[label])
        chance = sum(shares.values()) / len(members)
        out.append((chance, replace(best[place, polarity], confidence=round(shares[polarity] / len(members), 4))))
    return out


def fresh(kept: Sequence[Triplet], proposals: Sequence[Proposal], limits: TrustLimits) -> list[Triplet]:
    """The sure proposals to take in beside the rule triplets that stay, none of them clashing with those or with
    another.
    """
    sure = settle([t for chance, t in proposals if chance >= (limits.add if t.reasons else limits.add_unread)])
    return [triplet for triplet in sure if not any(clashes(triplet, other) for other in kept)]


def widened(kept: Sequence[Triplet], proposals: Sequence[Proposal], least: float = WIDEN) -> list[Triplet]:
    """The rule triplets that stay, each with the aspect of the likeliest proposal for its place if that holds its own
    and more. Two that become one are one, that of the first.
    """
    likely = sorted((proposal for proposal in proposals if proposal[0] >= least), key=lambda proposal: -proposal[0])
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
        ):
            triplet = replace(triplet, aspect=best.aspect, aspect_full=wide, owner=None)
        out.setdefault(triplet.key, triplet)
    return list(out.values())


def merged(
    rules: Sequence[Triplet], stays: Sequence[bool], proposals: Sequence[Proposal], limits: TrustLimits
) -> tuple[Triplet, ...]:
    """What the two views hold together, in text order: the rule triplets that stay (`TrustLimits.place`), each with
    its story, and what the model adds.
    """
    kept = [triplet for triplet, stay in zip(rules, stays, strict=True) if stay]
    kept = widened(kept, proposals, limits.widen)
    return tuple(sorted(kept + fresh(kept, proposals, limits), key=in_place))


def held(
    engine: RuleEngine,
    doc: Doc,
    rules: Sequence[Triplet],
    stays: Sequence[bool],
    proposals: Sequence[Proposal],
    limits: TrustLimits,
) -> tuple[Triplet, ...]:
    """As `merged`, with every proposal as the engine weighs it, or as it is where the panel `overrules` the engine.
    What the release holds and what `extract` finds are made here.
    """
    weighed = engine.weigh(doc, [triplet for _, triplet in proposals])
    sound = []
    for (chance, triplet), stated in zip(proposals, weighed, strict=True):
        if stated is None and limits.overrules:
            stated = tidied(doc.text, triplet)
        if stated is not None:
            sound.append((chance, stated))
    return merged(rules, stays, sound, limits)
