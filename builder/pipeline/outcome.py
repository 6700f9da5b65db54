"""What a finished build says to people: what its release holds, whether its quality is known, examples, what next.

In: a release directory, where the build lies, and what self-train counted. Out: lines of text. Of the release its own
manifest is all that is read; the database says what each rule lost.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from importlib.util import find_spec
from itertools import islice
from pathlib import Path
from typing import Any

from builder.core.annotators import NOT_STATED
from builder.core.errors import install_command
from builder.core.wording import counted
from builder.pipeline.release_facts import NO_JUDGE
from builder.release import reading
from builder.release.export.extract_output import AnsweredText, laid_out
from builder.release.export.records import ReviewRow, triplet
from builder.release.origin import WEIGHED
from builder.store import db, report
from builder.store.labels import ADDED, DROPPED
from builder.store.runs import Counts

_EXAMPLES = 3
_SHORT = range(8, 41)
"""Characters of a text that is shown as an example, where there are such."""
_LOOK_AT = 400
FEW, MOST = 30, 0.8
"""A rule with more triplets than `FEW` that loses more than this share of them is spoken of."""
_WORDS = {"POS": "positive", "NEG": "negative", "NEU": "neutral"}


@dataclass(frozen=True, slots=True)
class ReleaseOutcome:
    """A release as a build ends with it. `reviews` are all in it, `labelled` those with a triplet, `gold` those of
    gold; `ingest` counts the rows of the input, `places` those named and those of them in several splits.
    """

    path: Path
    version: str
    licensed: bool
    reviews: int
    labelled: int
    gold: int
    triplets: int
    polarities: Mapping[str, int]
    splits: Mapping[str, int]
    ingest: Mapping[str, Any]
    judged: bool
    quality: str
    labellers: str = ""
    places: Mapping[str, int] = field(default_factory=dict)

    def as_json(self) -> dict[str, object]:
        """As plain values."""
        return {
            "release": str(self.path), "version": self.version, "reviews": self.reviews,
            "reviews_with_triplets": self.labelled, "gold_reviews": self.gold, "triplets": self.triplets,
            "polarities": dict(self.polarities), "splits": dict(self.splits), "quality": self.quality or None,
        }  # fmt: skip

    def lines(self, counts: Counts) -> Iterator[str]:
        """Counts and quality, in sentences. `counts`: what self-train counted."""
        shares = ", ".join(f"{self.polarities.get(name, 0):,} {word}" for name, word in _WORDS.items())
        reviews = counted(self.reviews, "review")
        yield f"{counted(self.triplets, 'triplet')} in {self.labelled:,} of {reviews}: {shares}."
        rejected, repeated = self.ingest.get("rejected", 0), self.ingest.get("duplicates", 0)
        if rejected or repeated:
            rows = self.ingest["rows"]
            repeat = f"{repeated:,} {'repeats' if repeated == 1 else 'repeat'} another review"
            parts = [f"{rejected:,} could not be used"] * bool(rejected) + [repeat] * bool(repeated)
            yield f"Of {counted(rows, 'row')}, {' and '.join(parts)}."
        if apart := self.places.get("in_several_splits"):
            named = counted(self.places["named"], "place")
            yield f"{apart:,} of {named} have reviews in several splits; --group-column COLUMN keeps each in one."
        if self.labellers:
            yield f"Where they read reviews, language models were weighed with the rules: {self.labellers}."
            if ADDED in counts:
                yield f"Triplets that they added: {counts[ADDED]:,}; that they took out: {counts[DROPPED]:,}."
        elif not self.judged:
            yield "The rules alone found them; no model judged them."
        yield self.quality or "No gold labels were given, so quality is not measured."


def read_outcome(path: Path) -> ReleaseOutcome:
    """What the manifest of a release says; ReleaseError where it cannot be read."""
    manifest: Mapping[str, Any] = reading.opened(path).manifest
    polarities = Counter[str]()
    for split in manifest["splits"].values():
        polarities.update(split["polarities"])
    statistics = list(manifest["statistics"].values())
    reviews = sum(split["reviews"] for split in manifest["splits"].values())
    return ReleaseOutcome(
        path=path,
        version=str(manifest["version"]),
        licensed=bool(manifest["licence"]),
        reviews=reviews,
        labelled=reviews - sum(split["reviews_without_triplet"] for split in statistics),
        gold=sum(split["gold_reviews"] for split in statistics),
        triplets=sum(polarities.values()),
        polarities=dict(polarities),
        splits={name: split["reviews"] for name, split in manifest["splits"].items()},
        ingest=manifest["ingest"],
        judged=not str(manifest["panel"]).startswith(NO_JUDGE),
        quality=_quality(manifest),
        labellers=next(
            filter(None, (split["source"].partition(WEIGHED)[2] for split in manifest["splits"].values())), ""
        ).partition(" where")[0],
        places=manifest.get("places", {}),
    )


def _quality(manifest: Mapping[str, Any]) -> str:
    """In sentences what was measured: by people in the audit of a sample, and on gold reviews."""
    sentences = [str(manifest["quality"]["summary"])] if manifest["quality"].get("summary") else []
    near = {figure["figure"].partition(",")[0]: figure for figure in manifest["figures"] if "near" in figure["figure"]}
    if "F1" in near:
        parts = ", ".join(f"{name} {near[name]['value']:.1f}" for name in ("precision", "recall", "F1") if name in near)
        sentences.append(
            f"Quality on {near['F1']['by']}: {parts} percent; a longer or shorter aspect or opinion counts as right."
        )
        if NOT_STATED in near["F1"]["by"]:
            sentences.append("Say who labelled them with `--set evaluate.gold_annotators=…`.")
    return " ".join(sentences)


@dataclass(frozen=True, slots=True)
class SilencedRule:
    """A rule whose triplets a build has dropped nearly all: mostly one that the judge was never taught."""

    rule: str
    found: int
    dropped: int

    def __str__(self) -> str:
        return (
            f"Of {self.found:,} triplets of the rule {self.rule} {self.dropped:,} were dropped;"
            " `builder query kept-by-rule` shows all rules."
        )


def find_silenced_rules(workdir: Path) -> list[SilencedRule]:
    """The rules with more than FEW triplets of which the last release has dropped more than MOST."""
    with db.reading(workdir) as connection:
        losses = report.losses(connection)
    return [SilencedRule(*own) for own in losses if own[1] > FEW and own[2] > MOST * own[1]]


def examples(path: Path, colour: bool = False) -> Iterator[str]:
    """Short reviews of a release with their triplets, laid out for people."""
    release = reading.opened(path)
    seen = (row for split in release.splits for row in islice(reading.rows(path, split), _LOOK_AT) if row["triplets"])
    rows = sorted(seen, key=_rank_example)[:_EXAMPLES]
    answers = [AnsweredText(None, row["text"], tuple(map(triplet, row["triplets"]))) for row in rows]
    yield from laid_out(answers, colour=colour)


def _rank_example(row: ReviewRow) -> tuple[bool, bool, float]:
    """Short reviews with several triplets first, of these the one whose least sure triplet is the surest."""
    least = min(kept["confidence"] or 0.0 for kept in row["triplets"])
    return len(row["text"]) not in _SHORT, len(row["triplets"]) < 2, -least


def list_next_commands(path: Path, place: str) -> Iterator[tuple[str, str]]:
    """Commands that make sense now and run as this builder is installed, and what each is for; where some lack their
    libraries, the command that installs them comes first.

    Args:
        place: the option that names the working directory, or nothing.
    """
    known = (
        (f"builder serve{place}", "look at it in a browser", ("datasette",)),
        (f"builder report{place}", "one page: what came out, how good it is", ("jinja2", "matplotlib")),
        (f"builder gold audit draw{place}", "have people check a sample, which measures quality", ()),
        (f'datasets.load_dataset("{path}")', "use it in Python", ("datasets",)),
    )
    lacking = [command for command, _, modules in known if not all(map(find_spec, modules))]
    if lacking:
        names = " and ".join(command.partition("(")[0].partition(" --")[0] for command in lacking)
        yield install_command("app"), f"for {names}, which cannot run yet"
    yield from ((command, purpose) for command, purpose, _ in known if command not in lacking)
