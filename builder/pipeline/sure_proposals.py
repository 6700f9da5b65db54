"""What the panel's members surely propose for the reviews that they judged, kept beside the panel.

In: reviews, each with the proposals of the members that were not trained on it. Out: a file from which variant E reads
them again, so that it asks the panel about the other reviews alone. The first line names the taggers. Each further one
begins with a digest of the review's key and view, so that nothing stale is ever read.
"""

from __future__ import annotations

import hashlib
import json
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from builder.core.errors import ModelError
from builder.core.files import replacing
from builder.core.records import Triplet
from builder.learning.task import VALENCE, Example, element

if TYPE_CHECKING:
    from builder.models.tagger import Proposal

FILE = "proposals.jsonl"
_DIGITS = 24


@dataclass(frozen=True, slots=True)
class KeptProposals:
    """The proposals of reviews by the digest of key and view, still as lines."""

    lines: Mapping[bytes, bytes]

    def answer(
        self, items: Iterable[Example], ask: Callable[[Iterator[Example]], Iterator[list[Proposal]]]
    ) -> Iterator[list[Proposal]]:
        """The proposals for each item, in order: those that are kept, and what `ask` says of the others."""
        waiting = deque[tuple[Example, bytes | None]]()

        def unknown() -> Iterator[Example]:
            for item in items:
                line = self.lines.get(_digest_of(item))
                waiting.append((item, line))
                if line is None:
                    yield item

        def take_kept() -> Iterator[list[Proposal]]:
            while waiting and waiting[0][1] is not None:
                item, line = waiting.popleft()
                assert line is not None
                yield _read_line(item.text, line)

        for answer in ask(unknown()):
            yield from take_kept()
            waiting.popleft()
            yield answer
        yield from take_kept()


def save_proposals(folder: Path, digest: str, proposed: Iterable[tuple[Example, Sequence[Proposal]]]) -> None:
    """Write what the taggers of this digest propose for reviews, one line each, as it comes."""
    with replacing(folder / FILE) as out:
        out.write(f"{digest}\n".encode())
        for item, proposals in proposed:
            out.write(_digest_of(item) + json.dumps([_to_row(*pair) for pair in proposals]).encode() + b"\n")


def load_proposals(folder: Path, digest: str) -> KeptProposals:
    """What `save_proposals` wrote; ModelError where it is missing or other taggers'."""
    path = folder / FILE
    try:
        owner, *lines = path.read_bytes().splitlines()
    except (OSError, ValueError) as error:
        raise ModelError(f"no readable proposals: {error!r}", where=str(path), fix=_FIX) from error
    if owner.decode("ascii", "replace") != digest:
        raise ModelError("the proposals are not those of this panel", where=str(path), fix=_FIX)
    return KeptProposals({line[:_DIGITS]: line[_DIGITS:] for line in lines})


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
        parts = [element(text, [(start, end) for start, end in spans]) for spans in elements]
        aspect, aspect_full, opinion, opinion_full = parts
        valence = VALENCE[polarity]
        triplet = Triplet(
            aspect, aspect_full, opinion, opinion_full, polarity, valence, source=source, confidence=confidence
        )
        out.append((chance, triplet))
    return out
