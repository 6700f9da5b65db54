"""The driver of augmentation: sentences go in, what the constraints keep of a method's proposals comes out.

A release (builder.augment.run_release), a file (builder.augment.run_file) and a bench (builder.augment.bench.augmented) only
read, write and say which texts may not be made. With a crew, proposals are made in chunks that are kept under the
working directory; without, at once.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from builder.augment import catalog, cues, proposing
from builder.augment.judging import Judgement, Seen, judge
from builder.augment.records import Method
from builder.augment.settings import AugmentSettings, Given
from builder.core.shards import Crew
from builder.release.manifest import sha256


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
        cues.chinese(request.given.folders.load_lexicon()) if request.given.language == "zh" else cues.english_cues()
    )
    return judge(zip(sentences, proposals, strict=True), request.copies, words, request.seen, request.private)


def draw_places(ids: Sequence[str], limit: int, seed: int) -> list[int]:
    """The places of all ids, or of `limit` of them drawn by the seed, in their order."""
    places = list(range(len(ids)))
    if not limit or limit >= len(ids):
        return places
    return sorted(sorted(places, key=lambda at: sha256(f"{seed} {ids[at]}".encode()))[:limit])
