"""What trained models say, in shards of `shard` reviews that the crew works on, each on one thread: the same whoever
does it.

In: a folder that a model was saved to, and its digest; a stream of items. Out: a stream of answers, one an item, in
order; a few shards are in memory. A worker loads the model once, and refuses one of another digest. The models of the
profile `paper` answer here, about all items at once: they have a GPU and processes of their own, and keep what they
write.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from builder.errors import ModelError
from builder.learning.task import Example, Judge, TripletModel
from builder.model import kinds
from builder.records import Triplet, Verdict
from builder.shards import Job, Parcel
from builder.stages.context import Context, ModelBar

if TYPE_CHECKING:
    from builder.model.panel import Panel, Shares
    from builder.model.tagger import Proposal


@dataclass(frozen=True, slots=True)
class Told:
    """Who is told how far it is, and of about how many characters in all."""

    shown: ModelBar
    characters: int


Verdicts = tuple[tuple[Verdict | None, float], ...]
State = TypeVar("State")
Answer = TypeVar("Answer")
Beside = TypeVar("Beside")
_FILES = ("**/config.json", "**/weights.safetensors", "panel.json", "**/taggers.json")
"""What loading needs; checkpoints of the training stay here."""


def verdicts(
    context: Context, judge: Judge, folder: Path, told: Told, items: Iterable[Example], *, apart: bool = False
) -> Iterator[Verdicts]:
    """What the judge saved in `folder` says of each item; `apart`: its members that were not trained on the item."""
    if context.config.profile in kinds.KINDS:
        return iter((judge.apart if apart else judge.classify)(list(items), told.shown))
    return _spread(context, _judge, folder, judge.digest, _apart if apart else _classify, items, told, "judging")


def triplets(
    context: Context, model: TripletModel, folder: Path, told: Told, items: Iterable[Example]
) -> Iterator[tuple[Triplet, ...]]:
    """What the extractor saved in `folder` finds in each item's text."""
    if context.config.profile in kinds.KINDS:
        return iter(kinds.predict(model, list(items), told.shown))
    return _spread(context, _extractor, folder, model.digest, _predict, items, told, "tagging")


def unseen(context: Context, digest: str, folder: Path, items: Sequence[Example], shown: ModelBar) -> Iterator[Shares]:
    """Per item [n, 3]: the probabilities of YY, YN, NX by the members saved in `folder` that were not trained on it."""
    told = Told(shown, sum(len(item.text) for item in items))
    return _spread(context, _members, folder, digest, _shares, items, told, "judging")


def sure(
    context: Context, panel: Panel, folder: Path, told: Told, items: Iterable[Example], *, apart: bool
) -> Iterator[list[Proposal]]:
    """Per item what the panel's taggers propose with the certainty that variant E asks for (`cotrain.WIDEN`)."""
    return _spread(context, _panel, folder, panel.digest, _sure_apart if apart else _sure, items, told, "tagging")


def _spread(
    context: Context,
    prepare: Callable[[Path, str], State],
    folder: Path,
    digest: str,
    work: Callable[[State, list[Example]], list[Answer]],
    items: Iterable[Example],
    told: Told,
    note: str,
) -> Iterator[Answer]:
    job = Job(prepare, (Parcel.of(folder, *_FILES), digest), work)
    done, asked = 0, deque[int]()

    def shards() -> Iterator[list[Example]]:
        left = iter(items)
        while shard := list(islice(left, context.config.shard)):
            asked.append(sum(len(item.text) for item in shard))
            yield shard

    for answers in context.crew.map(job, shards()):
        done += asked.popleft()
        told.shown(done, max(done, told.characters), note)
        yield from answers


def along(
    pairs: Iterable[tuple[Example, Beside]], ask: Callable[[Iterator[Example]], Iterator[Answer]]
) -> Iterator[tuple[Beside, Answer]]:
    """What stands beside each item, with the item's answer; both are streams."""
    waiting = deque[Beside]()

    def items() -> Iterator[Example]:
        for item, own in pairs:
            waiting.append(own)
            yield item

    for answer in ask(items()):
        yield waiting.popleft(), answer


def _judge(folder: Path, digest: str) -> Judge:
    """The panel or the one discriminator of the folder, on one thread: the number of threads may change the last
    digit of a score.
    """
    from builder.model.discriminator import Discriminator

    if (folder / "panel.json").is_file():
        return _panel(folder, digest)
    judge = kinds.load_judge(folder)
    _checked(judge.digest, digest, folder)
    return replace(judge, config=replace(judge.config, threads=1)) if isinstance(judge, Discriminator) else judge


def _panel(folder: Path, digest: str) -> Panel:
    from builder.model.panel import load_panel, on_one_thread

    panel = load_panel(folder)
    _checked(panel.digest, digest, folder)
    return on_one_thread(panel)


def _members(folder: Path, digest: str) -> Panel:
    from builder.model.panel import load_members, on_one_thread

    panel = load_members(folder)
    _checked(panel.digest, digest, folder)
    return on_one_thread(panel)


def _extractor(folder: Path, digest: str) -> TripletModel:
    from builder.model.tagger import Tagger

    model = kinds.load_extractor(folder)
    _checked(model.digest, digest, folder)
    return replace(model, config=replace(model.config, threads=1)) if isinstance(model, Tagger) else model


def _checked(found: str, due: str, folder: Path) -> None:
    if found != due:
        raise ModelError(
            f"the model's digest is {found}, not {due}: it was replaced",
            where=str(folder),
            fix="`builder resume` trains it again",
        )


def _classify(judge: Judge, items: list[Example]) -> list[Verdicts]:
    return judge.classify(items)


def _apart(judge: Judge, items: list[Example]) -> list[Verdicts]:
    return judge.apart(items)


def _predict(model: TripletModel, items: list[Example]) -> list[tuple[Triplet, ...]]:
    return model.predict([item.text for item in items])


def _shares(panel: Panel, items: list[Example]) -> list[Shares]:
    from builder.model.panel import unseen

    return unseen(panel.taggers, panel.discriminators, items)


def _sure(panel: Panel, items: list[Example]) -> list[list[Proposal]]:
    return _certain(panel.taggers.proposals([item.text for item in items]))


def _sure_apart(panel: Panel, items: list[Example]) -> list[list[Proposal]]:
    return _certain(panel.taggers.apart([item.id for item in items], [item.text for item in items]))


def _certain(found: list[list[Proposal]]) -> list[list[Proposal]]:
    from builder.model.trust import WIDEN

    return [[one for one in listed if one[0] >= WIDEN] for listed in found]
