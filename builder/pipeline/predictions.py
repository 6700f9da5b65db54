"""Predictions and verdicts of trained models, computed by the crew in shards of `shard` reviews.

In: a folder that a model was saved to, its digest, and a stream of examples. Out: a stream of answers, one for each
example, in order; only a few shards are in memory. A worker loads the model once, on one thread, so that the answers do
not depend on the number of workers. It refuses a model of another digest.

With the engine `local`, models of the profile `encoder` run in the crew without a GPU and in this process with one.
With several GPUs there is a process for each. Those of `paper` run in this process, or with several GPUs in a process
for each. Workers of a cluster run all models. What a model of `paper` writes is kept by this process, wherever it was
written.

Sure proposals of the shipped model are kept beside it, a line for each review that it read. Variant E takes them from
there. The first line of their file names the model. Each further one begins with a digest of the review's key and view,
so that nothing stale is ever read.
"""

from __future__ import annotations

import hashlib
import json
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, replace
from itertools import chain, islice, repeat
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from builder.core.errors import ModelError
from builder.core.files import replacing
from builder.core.progress import ModelBar
from builder.core.records import Element, Triplet, Verdict
from builder.core.settings import Config
from builder.core.shards import Answer, Crew, Job, Parcel, State
from builder.core.shards.local import LocalCrew
from builder.learning.task import VALENCE, Example, Judge, TripletModel
from builder.models import kinds
from builder.pipeline.context import Context

if TYPE_CHECKING:
    from builder.models.paper.models import Writer
    from builder.models.shipped import Shares, ShippedModel
    from builder.models.text_reading import Proposal

# ---- Kept proposals of the shipped model

FILE = "proposals.jsonl"
_DIGITS = 24


def save_proposals(folder: Path, digest: str, proposed: Iterable[tuple[Example, Sequence[Proposal]]]) -> None:
    """Write what the model of this digest proposes for reviews, one line each, as it comes."""
    with replacing(folder / FILE) as out:
        out.write(f"{digest}\n".encode())
        for item, proposals in proposed:
            out.write(_digest_of(item) + json.dumps([_to_row(*pair) for pair in proposals]).encode() + b"\n")


def read_proposals(folder: Path, digest: str, items: Iterable[Example]) -> Iterator[list[Proposal]]:
    """What `save_proposals` wrote of the same reviews in the same order; ModelError where it is missing, another
    model's, or of other reviews.
    """
    path = folder / FILE
    try:
        with path.open("rb") as lines:
            if next(lines, b"") != f"{digest}\n".encode():
                raise ModelError("the proposals are not those of this model", where=str(path), fix=_FIX)
            for item, line in zip(items, chain(lines, repeat(b"")), strict=False):
                if line[:_DIGITS] != _digest_of(item):
                    raise ModelError(f"there are no proposals for review {item.id!r}", where=str(path), fix=_FIX)
                try:
                    proposals = _read_line(item.text, line[_DIGITS:])
                except (ValueError, TypeError, KeyError, IndexError) as error:
                    what = f"the proposals for review {item.id!r} cannot be read: {error!r}"
                    raise ModelError(what, where=str(path), fix=_FIX) from error
                yield proposals
    except OSError as error:
        raise ModelError(f"no readable proposals: {error!r}", where=str(path), fix=_FIX) from error


_FIX = "`builder run discriminate --force`"


def _digest_of(item: Example) -> bytes:
    """Tells a review by its key and view."""
    whole = f"{item.id}\0{item.text}".encode("utf-8", "surrogatepass")
    return hashlib.sha256(whole).hexdigest()[:_DIGITS].encode()


def _to_row(chance: float, triplet: Triplet) -> list[object]:
    elements = (triplet.aspect, triplet.aspect_full, triplet.opinion, triplet.opinion_full)
    return [chance, triplet.confidence, triplet.polarity, triplet.source, *(part.spans for part in elements)]


def _read_line(text: str, line: bytes) -> list[Proposal]:
    out = []
    for chance, confidence, polarity, source, *elements in json.loads(line):
        aspect, aspect_full, opinion, opinion_full = (Element.at(text, map(tuple, spans)) for spans in elements)
        parts = aspect, aspect_full, opinion, opinion_full
        out.append((chance, Triplet(*parts, polarity, VALENCE[polarity], source=source, confidence=confidence)))
    return out


# ---- Predictions and verdicts


@dataclass(frozen=True, slots=True)
class CharacterProgress:
    """A progress bar that counts characters: about how many there are in all, and how many are done `before`."""

    shown: ModelBar
    characters: int
    before: int = 0


Verdicts = tuple[tuple[Verdict | None, float], ...]
Beside = TypeVar("Beside")
_FILES = (
    "**/config.json", "**/weights.safetensors", "**/tokenizer.json", "judge.json",
    "paper.json", "model*.safetensors*", "*token*.json", "generation_config.json", "spiece.model",
)  # fmt: skip
"""What loading needs; checkpoints of the training stay here."""


def classify(
    context: Context, judge: Judge, folder: Path, progress: CharacterProgress, items: Iterable[Example]
) -> Iterator[Verdicts]:
    """The verdicts of the judge saved in `folder` on each item."""
    if kinds.writes(context.config) and not _is_spread(context.config):
        return iter(judge.classify(list(items), progress.shown))
    return _spread(context, _judge, folder, judge.digest, _classify, items, progress, "judging")


def extract(
    context: Context, model: TripletModel, folder: Path, progress: CharacterProgress, items: Iterable[Example]
) -> Iterator[tuple[Triplet, ...]]:
    """The triplets that the extractor saved in `folder` predicts for each item's text."""
    if kinds.writes(context.config):
        writer = kinds.as_writer(model, folder)
        if _is_spread(context.config):
            writer = replace(writer, elsewhere=lambda asked: _written(context, model, folder, progress, asked))
        return iter(writer.predict_examples(list(items), progress.shown))
    return _spread(context, _extractor, folder, model.digest, _predict, items, progress, "tagging")


def score(
    context: Context, model: ShippedModel, folder: Path, progress: CharacterProgress, items: Iterable[Example]
) -> Iterator[tuple[Shares, list[Proposal]]]:
    """What the shipped model that lies in `folder` says of each item: [n, 3] the probabilities of YY, YN, NX of its
    triplets, and its own proposals with the certainty that variant E needs.
    """
    return _spread(context, _shipped, folder, model.digest, _score, items, progress, "judging")


def _spread(
    context: Context,
    prepare: Callable[[Path, str, str], State],
    folder: Path,
    digest: str,
    work: Callable[[State, list[Example]], list[Answer]],
    items: Iterable[Example],
    progress: CharacterProgress,
    note: str,
) -> Iterator[Answer]:
    job = Job(prepare, (Parcel.of(folder, *_FILES), digest, context.config.device), work)
    done, asked = 0, deque[int]()

    def shards() -> Iterator[list[Example]]:
        left = iter(items)
        while shard := list(islice(left, context.config.shard)):
            asked.append(sum(len(item.text) for item in shard))
            yield shard

    with _crew(context) as crew:
        for answers in crew.map(job, shards()):
            done += asked.popleft()
            progress.shown(progress.before + done, max(progress.before + done, progress.characters), note)
            yield from answers


def _crew(context: Context) -> AbstractContextManager[Crew]:
    """Who predicts: the build's crew; where models have GPUs of this machine, a process for each of these."""
    gpus = _gpus(context.config)
    return LocalCrew(gpus) if gpus else nullcontext(context.crew)


def _is_spread(config: Config) -> bool:
    """Whether models of the profile `paper` predict in other processes: those of a cluster, or one a GPU."""
    return config.engine != "local" or _gpus(config) > 1


def _gpus(config: Config) -> int:
    """The GPUs of this machine that models of the build predict on."""
    if config.engine != "local" or config.profile == "embedded":
        return 0
    from builder.learning import devices

    return devices.count_gpus(config.device)


def _written(
    context: Context, model: TripletModel, folder: Path, progress: CharacterProgress, items: list[Example]
) -> Iterator[tuple[str, float]]:
    return _spread(context, _writer, folder, model.digest, _answer, items, progress, "writing")


def answer_pairs(
    pairs: Iterable[tuple[Example, Beside]], ask: Callable[[Iterator[Example]], Iterator[Answer]]
) -> Iterator[tuple[Beside, Answer]]:
    """Pairs of (example, value) in, pairs of (value, answer to the example) out; both are streams."""
    waiting = deque[Beside]()

    def items() -> Iterator[Example]:
        for item, own in pairs:
            waiting.append(own)
            yield item

    for answer in ask(items()):
        yield waiting.popleft(), answer


def _judge(folder: Path, digest: str, device: str) -> Judge:
    """The judge of the folder, on one thread: the number of threads may change the last digit of a score."""
    from builder.language.lexicon.packs import JUDGE
    from builder.models.discriminator import Discriminator

    if (folder / JUDGE).is_file():
        return _shipped(folder, digest, device)
    judge = kinds.load_judge(folder, device)
    _check_digest(judge.digest, digest, folder)
    return replace(judge, config=replace(judge.config, threads=1)) if isinstance(judge, Discriminator) else judge


def _shipped(folder: Path, digest: str, device: str) -> ShippedModel:
    from builder.models.shipped import load_model

    model = load_model(folder, device)
    _check_digest(model.digest, digest, folder)
    return model


def _extractor(folder: Path, digest: str, device: str) -> TripletModel:
    from builder.models.tagger import Tagger

    model = kinds.load_extractor(folder, device, keep=False)
    _check_digest(model.digest, digest, folder)
    return replace(model, config=replace(model.config, threads=1)) if isinstance(model, Tagger) else model


def _writer(folder: Path, digest: str, device: str) -> Writer:
    return kinds.as_writer(_extractor(folder, digest, device), folder)


def _check_digest(digest: str, due: str, folder: Path) -> None:
    if digest != due:
        raise ModelError(
            f"the model's digest is {digest}, not {due}: it was replaced",
            where=str(folder),
            fix="`builder resume` trains it again",
        )


def _classify(judge: Judge, items: list[Example]) -> list[Verdicts]:
    return judge.classify(items)


def _predict(model: TripletModel, items: list[Example]) -> list[tuple[Triplet, ...]]:
    return model.predict([item.text for item in items])


def _answer(writer: Writer, items: list[Example]) -> list[tuple[str, float]]:
    return [(answer.text, answer.confidence) for answer in writer.answers(items)]


def _score(model: ShippedModel, items: list[Example]) -> list[tuple[Shares, list[Proposal]]]:
    least = model.limits.least
    return [(shares, [pair for pair in proposals if pair[0] >= least]) for shares, proposals in model.read(items)]
