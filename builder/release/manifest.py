"""The manifest and the checksums of a release: from counts and signatures to text. Pure; no clock, so rebuilds are
equal.

How good the silver labels are by gold reviews, and names for systems and metrics that need no key. Pure.

Each figure says by whose labels it was measured. Agreement of a model with the rules is no quality, and is never shown
as such.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from builder.core.files import digest_file
from builder.core.wording import table
from builder.release.shelf import FORMAT, kept_columns

# ---- Figures of quality

_METRICS = {
    "exact": "exact match",
    "lenient": "near match (one part may hold the other)",
    "paper": "example-based, as in Lu et al. 2024",
}
_PARTS = {"P": "precision", "R": "recall", "F1": "F1"}


@dataclass(frozen=True, slots=True)
class QualityFigure:
    """A figure that gold stands behind. `figure`: precision, recall or F1 and how it counts; `of` what
    it was measured; `by` whose labels, of how many reviews; percent with the ends of its 95% interval.
    """

    figure: str
    of: str
    by: str
    value: float
    low: float | None = None
    high: float | None = None


def of_manifest(rows: Iterable[Mapping[str, Any]]) -> list[QualityFigure]:
    return [QualityFigure(**row) for row in rows]


def as_rows(figures: Iterable[QualityFigure]) -> list[dict[str, Any]]:
    """For the manifest."""
    return [asdict(figure) for figure in figures]


def markdown(figures: Sequence[QualityFigure]) -> str:
    """A table."""
    rows = [(one.figure, f"{one.value:.1f}", interval(one.low, one.high), one.of, one.by) for one in figures]
    return table(["figure", "percent", "95% interval", "of", "judged by"], rows)


def sentence(figures: Sequence[QualityFigure]) -> str:
    """The same in a line."""
    return (
        "; ".join(
            f"{figure.figure} of {figure.of}: {figure.value:.1f}% ({interval(figure.low, figure.high)}), by {figure.by}"
            for figure in figures
        )
        + "."
    )


def interval(low: float | None, high: float | None) -> str:
    """A confidence interval in words; empty without one."""
    return "" if low is None else f"{low:.1f} to {high:.1f}"


def system_name(code: str) -> str:
    """A system of the build in words: rules, E0 (variant and round)."""
    if match := re.fullmatch(r"([A-E])(\d+)", code):
        if match[1] == "E":
            return f"rules and the shipped model together ({code})"
        return f"tagger of variant {match[1]}, round {match[2]} ({code})"
    return {"rules": "the rules alone", "silver": "a language model (silver)"}.get(code, code)


def metric_name(code: str) -> str:
    """`exact P` as precision, exact match."""
    kind, _, part = code.partition(" ")
    return f"{_PARTS[part]}, {_METRICS[kind]}" if part in _PARTS and kind in _METRICS else code


# ---- The manifest

Json = Mapping[str, object]


@dataclass(frozen=True, slots=True)
class Stored:
    """A file that lies on the disk already: a release of millions of reviews fits into no memory."""

    path: Path
    size: int
    sha256: str


Content = bytes | Stored


@dataclass(frozen=True, slots=True)
class LayerFacts:
    """A labelled layer of a split: gold or silver, who labelled it in words, and its counts. `annotators`: people,
    language model or mixed, as far as somebody says.
    """

    annotation: str
    labelled_by: str
    reviews: int
    triplets: int
    annotators: str = ""


@dataclass(frozen=True, slots=True)
class SplitFacts:
    """What a split holds: where its triplets come from, how it was labelled, its counts; and the layers of it that are
    labelled in full.
    """

    name: str
    source: str
    annotation: str
    reviews: int
    triplets: int
    polarities: Mapping[str, int]
    layers: tuple[LayerFacts, ...] = ()


@dataclass(frozen=True, slots=True)
class Facts:
    """All that the files beside the data say. `change` is what the version says about the parent: first, patch, minor
    or major.

    `date` is the day of publication, `reason` what the user gave for a drop, `panel` what the judge did (if
    there is one), `metrics` (system, split, metric, value, ends of its 95% interval), `statistics` the
    numbers of each split. `augmentations` are the layers by name, with all that decided them; `parent_name` is the
    parent's where it is another dataset's. `quality` is what people measured on a sample (`builder gold audit`), with a
    `summary` in sentences; empty where nobody has. `figures` are what gold reviews say of the silver labels,
    `licences` those of single sources of reviews where they differ from the dataset's.
    """

    name: str
    version: str
    parent: str | None
    licence: str
    builder: str
    splits: Sequence[SplitFacts]
    signatures: Mapping[str, str]
    config: Json
    ingest: Json
    dropped: Mapping[str, int]
    metrics: Sequence[tuple[str, str, str, float, float | None, float | None]]
    date: str = ""
    creator: str = ""
    url: str = ""
    change: str = "first"
    reason: str = ""
    panel: str = ""
    statistics: Mapping[str, Json] = field(default_factory=dict)
    augmentations: Mapping[str, Json] = field(default_factory=dict)
    parent_name: str = ""
    quality: Json = field(default_factory=dict)
    contact: str = ""
    figures: Sequence[QualityFigure] = ()
    licences: Mapping[str, str] = field(default_factory=dict)
    """Those of sources of the input, where they differ from the release's or are stated beside it."""
    folders: Sequence[Mapping[str, str]] = ()
    """Role, name and digest of every folder of lexicons and rules, the last one uppermost."""
    places: int = 0
    """Places that the input names for released reviews."""
    places_apart: int = 0
    """Those of them with reviews in several splits."""

    @property
    def reviews(self) -> int:
        return sum(split.reviews for split in self.splits)

    @property
    def gold(self) -> int:
        """Reviews that are gold."""
        return sum(int(str(counts.get("gold_reviews", 0))) for counts in self.statistics.values())

    @property
    def gold_annotators(self) -> str:
        """Who labelled the gold reviews: people, language model or mixed; empty where nobody says."""
        return next((layer.annotators for layer in self.layers if layer.annotation == "gold"), "")

    @property
    def layers(self) -> list[LayerFacts]:
        """The layers that are labelled in full."""
        return [layer for split in self.splits for layer in split.layers]

    @property
    def inputs(self) -> dict[str, int]:
        """Reviews by where they come from, as the input says; empty where it does not."""
        out: dict[str, int] = {}
        for numbers in self.statistics.values():
            inputs = numbers.get("inputs")
            for name, number in inputs.items() if isinstance(inputs, Mapping) else ():
                out[name] = out.get(name, 0) + int(number)
        return out


MASKED: Mapping[str, str] = {
    "[電話]": "phone numbers",
    "[信箱]": "e-mail addresses",
    "[網址]": "URLs",
    "[帳號]": "handles and account names",
    "[地址]": "addresses with the number of a house or lane",
    "[人名]": "names of people beside a title, a role or thanks",
    "[店名]": "the reviewed place's own name, with its branch, and names that a review says are a shop's",
}
"""What stands for what."""
PRIVACY = {"masked": MASKED, "not_released": ["authors", "places", "raw texts", "input files"]}
"""What is done for privacy where no column passes through; `verify` looks for what a mask should have covered."""
MASKING = (
    "A language model invented 1,397 sentences with and without names, addresses and places. On 184 of them, to which "
    "no rule was fitted, recall is 95% and precision 99%; on the others 96% and 99%. Real reviews may differ."
)
"""How well masks are found: `tests/test_masked_names.py` holds the figures."""
UNMASKED = (
    "names of people without a title, a role, thanks or their service beside them; names that are common words; "
    "nicknames alone; roads without a number; names of the reviewed places where the input does not give them; "
    "names of other shops, unless a review says that they are names"
)
"""What no pattern finds."""


def making(facts: Facts) -> dict[str, object]:
    """What made the release beside its input: the version of builder, settings, signatures and folders."""
    return {
        "builder": facts.builder,
        "signatures": dict(facts.signatures),
        "folders": [dict(folder) for folder in facts.folders],
        "config": dict(facts.config),
    }


def _describe_privacy(facts: Facts) -> dict[str, object]:
    passed = kept_columns(facts.config)
    beside = {"passed_through": list(passed)} if passed else {}
    return PRIVACY | {"ids": facts.config.get("release.ids", "keep")} | beside


def manifest(facts: Facts, files: Mapping[str, Content]) -> str:
    """manifest.json: everything that decided the release, and its files."""
    body = {
        "format": FORMAT,
        "name": facts.name,
        "version": facts.version,
        "parent": facts.parent,
        **({"parent_name": facts.parent_name} if facts.parent_name else {}),
        "change": facts.change,
        "reason": facts.reason,
        "date": facts.date,
        "licence": facts.licence,
        **({"licences": dict(facts.licences)} if facts.licences else {}),
        "creator": facts.creator,
        "contact": facts.contact,
        "url": facts.url,
        **making(facts),
        "splits": {
            s.name: {
                "source": s.source,
                "annotation": s.annotation,
                "reviews": s.reviews,
                "triplets": s.triplets,
                "polarities": dict(s.polarities),
                **({"layers": [asdict(layer) for layer in s.layers]} if s.layers else {}),
            }
            for s in facts.splits
        },
        "statistics": {split: dict(numbers) for split, numbers in facts.statistics.items()},
        "dropped": dict(facts.dropped),
        **({"places": {"named": facts.places, "in_several_splits": facts.places_apart}} if facts.places else {}),
        "panel": facts.panel,
        "quality": facts.quality,
        "privacy": _describe_privacy(facts),
        "ingest": dict(facts.ingest),
        "figures": as_rows(facts.figures),
        "metrics": [
            dict(zip(("system", "split", "metric", "value", "low", "high"), metric, strict=True))
            for metric in facts.metrics
        ],
        "paper_input": "given-aspects",
        **(
            {"augmentations": {layer: dict(counts) for layer, counts in facts.augmentations.items()}}
            if facts.augmentations
            else {}
        ),
        "files": {path: {"bytes": size_of(files[path]), "sha256": digest_of(files[path])} for path in sorted(files)},
    }
    return json.dumps(body, ensure_ascii=False, indent=2) + "\n"


def checksums(files: Mapping[str, Content]) -> str:
    """SHA256SUMS in the form that `sha256sum --check` reads."""
    return sums({path: digest_of(content) for path, content in files.items()})


def sums(digests: Mapping[str, str]) -> str:
    """The same from digests that are known."""
    return "".join(f"{digest}  {path}\n" for path, digest in sorted(digests.items()))


def sha256(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


def stored(path: Path) -> Stored:
    """A file of the disk, measured."""
    return Stored(path, path.stat().st_size, digest_file(path))


def size_of(content: Content) -> int:
    return content.size if isinstance(content, Stored) else len(content)


def digest_of(content: Content) -> str:
    return content.sha256 if isinstance(content, Stored) else sha256(content)
