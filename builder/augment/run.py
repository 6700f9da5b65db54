"""The driver of augmentation: sentences go in, what the constraints keep of a method's proposals comes out.

Every candidate is kept or rejected with a reason code, and counted. With a crew, proposals are made in chunks: files
under the working directory, in a folder that bears the hash of all that they depend on.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import asdict, dataclass, field, replace
from multiprocessing import parent_process
from pathlib import Path
from typing import Any

from builder.augment import constraints
from builder.augment.candidates import Edit, Mark, Method, Rewrite, Sentence, rewrite_of
from builder.augment.catalogue import AugmentSettings, Given, make_method
from builder.augment.constraints import Cues, Trial, bad_edits, broken, make_trial, respaced, spelt
from builder.augment.methods.boostaug import CODE, BoostAug
from builder.core.code import code_digest
from builder.core.config import filled, flat
from builder.core.files import Kept, key_of, write_atomically
from builder.core.progress import bar
from builder.core.shards import Crew, Job, Parcel
from builder.language.lexicon.folders import SHIPPED, Folders
from builder.release.manifest import sha256

NOTHING = "nothing-to-change"
"""The reason of a sentence to which a method does not apply."""


@dataclass(frozen=True, slots=True)
class Rejected:
    """A candidate (or, without edits, a whole sentence) that is not used, and why."""

    source: str
    reason: str
    edits: tuple[Edit, ...] = ()


@dataclass(frozen=True, slots=True)
class Judgement:
    """`kept` in order; `proposed` candidates in all, `sources` sentences that any were proposed for."""

    kept: tuple[Trial, ...]
    rejected: tuple[Rejected, ...]
    proposed: int
    sources: int

    @property
    def reasons(self) -> dict[str, int]:
        """How many were rejected for each reason, by name."""
        return dict(sorted(Counter(rejection.reason for rejection in self.rejected).items()))


@dataclass(slots=True)
class Seen:
    """Texts that may not come again, by their `key`: sources, held-out ones, and those kept so far. `apart` tells
    sentences of one text apart: by the aspect that is judged.
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
        if known in self.sources:
            return "in-source"
        return "duplicate" if (known, self.apart(trial.source)) in self.kept else None

    def keep(self, trial: Trial) -> None:
        self.kept.add((self._known(trial), self.apart(trial.source)))

    def _known(self, trial: Trial) -> str:
        """Its key; its words where it differs by a space alone, which the key does not see."""
        known = self.key(trial.text)
        return " ".join(spelt(trial.text)) if respaced(trial) and known == self.key(trial.source.text) else known


@dataclass(slots=True)
class Sieve:
    """Keeps the first `copies` candidates of a sentence that pass. `refused`: whether a text shows personal data."""

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
    trials = [judged.kept[n] for n in sorted(gone)]
    rejected = (Rejected(trial.source.id, reason, trial.candidate.edits) for trial in trials)
    kept = tuple(trial for n, trial in enumerate(judged.kept) if n not in gone)
    return replace(judged, kept=kept, rejected=(*judged.rejected, *rejected))


@dataclass(frozen=True, slots=True, kw_only=True)
class AugmentOptions:
    """The options of the command: `candidates` a sentence, up to `copies` kept, `limit` sentences (0: all)."""

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
class Outcome:
    """What was written: rows and why others were rejected, measures; of a release its layer, and if it was there."""

    path: Path
    rows: int
    reasons: Mapping[str, int]
    measures: Mapping[str, object]
    layer: str = ""
    before: bool = False


def judge_proposals(
    options: AugmentOptions,
    method: Method,
    seen: Seen,
    private: Callable[[str], bool] = lambda text: False,
    crew: Crew | None = None,
) -> Judgement:
    """What is kept and rejected of a method's proposals; `redraws` ask again where too few are kept."""
    settings, given = options.settings, options.settings.given
    chinese = given.language == "zh"
    cues = constraints.chinese(given.folders.load_lexicon()) if chinese else constraints.english_cues()
    sieve = Sieve(options.copies, cues, seen, private, settings.label_safe)
    sentences: Sequence[Sentence] = given.sentences
    for draw in range(1 + settings.redraws):
        drawn = replace(options, candidates=options.candidates * (1 + draw), seed=options.seed + draw)
        if crew is None:
            proposals = method.propose(sentences, drawn.candidates, drawn.seed)
        else:
            proposals = propose(drawn, method, sentences, crew)
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


# ---- Proposals by a crew

CHUNK = 256
_MODELS = ("**/weights.safetensors", "**/model.json")
"""What loading a method needs; checkpoints of other trainings stay here."""


def propose(
    options: AugmentOptions, method: Method, sentences: Sequence[Sentence], crew: Crew
) -> Iterator[tuple[Rewrite, ...]]:
    """The candidates of each sentence, in order; workers load the method as it is here. A worker trains and reads a
    filter's fold whole; else it proposes for a chunk of sentences, which is kept in a file.
    """
    name, copies, seed, folders = options.method, options.candidates, options.seed, options.settings.given.folders
    arguments = (name, *_pack_settings(options.settings, options.workdir))
    if isinstance(method, BoostAug):
        due = method.due(copies, seed)
        readings = crew.map(Job(_prepare, (*arguments, True), _read_fold), [(number, copies, seed) for number in due])
        for number, rows in zip(due, readings, strict=True):
            method.keep(number, copies, seed, rows)
        yield from method.propose(sentences, copies, seed)
        return
    own_words = folders.files_digest if folders != SHIPPED else ""
    key = key_of(code_digest(*CODE), method.signature, copies, seed, sentences, own_words)
    chunks = Kept(options.workdir / "augment" / f"{name}-{key}")
    tasks = [(sentences[at : at + CHUNK], copies, seed) for at in range(0, len(sentences), CHUNK)]
    before = [chunks.find(f"{number:06d}") for number in range(len(tasks))]
    due_tasks = [task for task, answer in zip(tasks, before, strict=True) if answer is None]
    answers = crew.map(Job(_prepare, (*arguments, False), _propose_chunk), due_tasks)
    with bar(len(sentences), name, " sentences") as shown:
        for number, answer in enumerate(before):
            if answer is None:
                answer = chunks.put(f"{number:06d}", next(answers))
            shown.update(len(answer))
            yield from (tuple(map(rewrite_of, rows)) for rows in answer)


def _pack_settings(settings: AugmentSettings, workdir: Path) -> tuple[Parcel, Parcel]:
    """The settings with all that may be learnt from as a file, and the trained models: too much for every task."""
    content = dumped(settings)
    folder = workdir / "augment" / f"settings-{sha256(content)[:16]}"
    write_atomically(folder / "settings.json", content)
    assert settings.given.models is not None, "the frame says where models are kept"
    settings.given.models.mkdir(parents=True, exist_ok=True)
    return Parcel.of(folder), Parcel.of(settings.given.models, *_MODELS)


def _prepare(name: str, folder: Path, models: Path, trains: bool) -> Method:
    """A worker's method, of what the first process trained; one thread, for other workers have the other cores."""
    settings = loaded((folder / "settings.json").read_bytes(), models)
    return make_method(name, settings if trains or parent_process() is None else replace(settings, threads=1))


def _read_fold(method: BoostAug, task: tuple[int, int, int]) -> list[Any]:
    return method.read(*task)


def _propose_chunk(method: Method, task: tuple[Sequence[Sentence], int, int]) -> list[Any]:
    sentences, copies, seed = task
    return [[asdict(rewrite) for rewrite in rewrites] for rewrites in method.propose(sentences, copies, seed)]


# ---- Settings as a file that travels to workers


def dumped(settings: AugmentSettings) -> bytes:
    """All of `settings` but where models are kept."""
    given = asdict(replace(settings.given, models=None)) | {"held": sorted(settings.given.held)}
    own = {key: value for key, value in flat(replace(settings, given=Given())).items() if not key.startswith("given.")}
    content = json.dumps({"own": own, "given": given}, ensure_ascii=False, default=str)  # str: paths of folders
    return content.encode("utf-8", "surrogatepass")


def loaded(content: bytes, models: Path | None) -> AugmentSettings:
    """What was `dumped`, with models kept in `models`."""
    document = json.loads(content.decode("utf-8", "surrogatepass"))
    given = document["given"]
    moved = Given(
        models=models,
        sentences=tuple(map(_sentence, given["sentences"])),
        texts=tuple(given["texts"]),
        held=frozenset(given["held"]),
        language=given["language"],
        folders=_folders(given["folders"]),
    )
    return replace(filled(AugmentSettings, document["own"]), given=moved)


def _folders(row: Mapping[str, Any]) -> Folders:
    """Folders are read where they lie: workers see the same files."""
    whole = {name: Path(row[name]) if row[name] else None for name in ("lexicons", "rules")}
    laid_over = {name: tuple(map(Path, row[name])) for name in ("overlays", "added_rules", "imported", "edited")}
    return Folders(**whole, **laid_over, domain=row["domain"])  # type: ignore[arg-type]  # each name has its type in one of the two


def _sentence(row: Mapping[str, Any]) -> Sentence:
    words, marks = tuple((start, end) for start, end in row["words"]), tuple(Mark(**mark) for mark in row["marks"])
    return Sentence(**{**row, "words": words, "marks": marks})
