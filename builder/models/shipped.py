"""The judge that builder ships: a reader of any review, and for a domain how its word and the rules' are weighed,
measured on reviews that it had not seen.

In: the folder of a domain's model, or the copy of one that a working directory keeps, so that a build can be read again
whatever builder ships later. Out: YY, YN, NX or nothing for each triplet, and what the reader proposes beside them.
A triplet is rejected where its probability is below `TrustLimits.dropped`; from there to even odds the model abstains.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, replace
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from builder.core.edges import clashes
from builder.core.errors import ModelError, install_command
from builder.core.files import write_atomically
from builder.core.machine import has_gpu
from builder.core.records import VERDICTS, Triplet, Verdict
from builder.language.lexicon.folders import TAUGHT_MODEL
from builder.language.lexicon.packs import JUDGE, data_dir, read_judge, reader_folder
from builder.learning.task import Example, Progress
from builder.models.combiner import FLOOR, Combiner
from builder.models.numpy_reader import open_numpy_reader
from builder.models.text_reading import Proposal, TextReader, TextReading
from builder.models.trust import Calibration, TrustLimits, read_calibration

YY, YN, NX = (VERDICTS.index(verdict) for verdict in ("YY", "YN", "NX"))
Shares = NDArray[np.float64]
_READER = "reader"


@dataclass(frozen=True, slots=True, eq=False)
class ShippedModel:
    """The reader, how it is weighed beside the rules, what it may do, and what its scores are worth."""

    reader: TextReader
    combiner: Combiner
    limits: TrustLimits
    calibration: Calibration

    @property
    def digest(self) -> str:
        parts = [reader_digest(self.reader), asdict(self.limits), self.combiner.kept]
        return hashlib.sha256(json.dumps(parts).encode()).hexdigest()[:16]

    def classify(
        self, items: Sequence[Example], progress: Progress | None = None
    ) -> list[tuple[tuple[Verdict | None, float], ...]]:
        """The verdict on each item's triplets, with the probability of YY."""
        return [self.verdicts(shares) for shares, _ in self.read(items, progress)]

    def read(self, items: Sequence[Example], progress: Progress | None = None) -> list[tuple[Shares, list[Proposal]]]:
        """Of each item's triplets the probabilities of YY, YN, NX [n, 3], and what is proposed beside them."""
        readings = read_items(self.reader, items, progress)
        return [self.combiner.read_review(item.triplets, own) for item, own in zip(items, readings, strict=True)]

    def weigh_by(self, combiner: Combiner) -> ShippedModel:
        """The same by weights of a user's labels. These know the user's reviews, so what the rules find must then be as
        probable as what is added (docs/results/domains.md).
        """
        return replace(self, combiner=combiner, limits=replace(self.limits, dropped=self.limits.limit))

    def verdicts(self, shares: Shares) -> tuple[tuple[Verdict | None, float], ...]:
        """What the model says of triplets with these `shares` [n, 3]."""
        return label_shares(shares, self.limits.dropped)


def read_items(reader: TextReader, items: Sequence[Example], progress: Progress | None = None) -> list[TextReading]:
    """What the reader says of each item's text and triplets, unlikely proposals included."""
    return reader.read(items, FLOOR, progress)


def label_shares(shares: Shares, cut: float) -> tuple[tuple[Verdict | None, float], ...]:
    """Verdicts with the probability of YY; a triplet is rejected where that is below `cut`."""

    def label(row: Shares) -> Verdict | None:
        if row[YY] < cut:
            return "YN" if row[YN] > row[NX] else "NX"
        return "YY" if row[YY] >= 0.5 else None

    return tuple((label(row), round(float(row[YY]), 4)) for row in shares)


def seen(triplets: Sequence[Triplet], proposals: Sequence[Proposal]) -> Shares:
    """[n, 3] as a tagger sees it: NX = 1 - P(pair), YY = P(pair) P(this polarity);
    a pair it does not propose is NX.
    """
    out = np.zeros((len(triplets), 3))
    for row, triplet in enumerate(triplets):
        near = [(chance, other) for chance, other in proposals if clashes(triplet, other)]
        chance, other = max(near, key=lambda pair: pair[0], default=(0.0, None))
        sure = min(1.0, (other.confidence or 0.0) / max(chance, 1e-9)) if other else 0.5
        same = sure if other is None or other.polarity == triplet.polarity else (1 - sure) / 2
        out[row] = chance * same, chance * (1 - same), 1 - chance
    return out


def reader_digest(reader: TextReader) -> str:
    """What a domain's model calls the reader that it was measured with."""
    return hashlib.sha256(reader.digest.encode()).hexdigest()[:16]


def open_model(folder: Path, device: str = "auto") -> ShippedModel:
    """The model of a domain; ModelError where it is broken."""
    return _open(folder / JUDGE, open_reader(device), _name_fix(folder))


def open_reader(device: str = "auto") -> TextReader:
    """The reader of any review; ModelError where it is broken."""
    return _load_reader(reader_folder(), device)


def copy_model(source: Path, folder: Path, device: str = "auto") -> ShippedModel:
    """Lay the model of a domain, with the reader, into a folder of a working directory."""
    for file in sorted(reader_folder().iterdir()):
        write_atomically(folder / _READER / file.name, file.read_bytes())
    _write_judge(folder, _read_judge(source, _name_fix(source)))
    return load_model(folder, device)


def load_model(folder: Path, device: str = "auto") -> ShippedModel:
    """What `copy_model` wrote, with the reader on `device`; ModelError where a part is missing or another's."""
    fix = "`builder run discriminate --force`"
    try:
        reader = _load_reader(folder / _READER, device)
    except ModelError as error:
        if not error.where.startswith(str(folder)):
            raise
        raise ModelError(error.what, where=error.where, fix=fix) from error
    return _open(folder / JUDGE, reader, fix)


def _open(path: Path, reader: TextReader, fix: str) -> ShippedModel:
    settings = _read_judge(path.parent, fix)
    with _refusing(path, fix):
        limits, combiner = TrustLimits.read(settings["limits"]), Combiner.read(settings["combiner"])
        calibration, digest = read_calibration(settings["calibration"]), settings["reader"]
    if reader_digest(reader) != digest:
        raise ModelError("these limits were measured with another reader", where=str(path), fix=fix)
    return ShippedModel(reader, combiner, limits, calibration)


def _read_judge(folder: Path, fix: str) -> dict[str, Any]:
    with _refusing(folder / JUDGE, fix):
        return read_judge(folder)


@contextmanager
def _refusing(path: Path, fix: str) -> Iterator[None]:
    """ModelError for a file that says nothing readable of weights and limits."""
    try:
        yield
    except (OSError, ValueError, KeyError, TypeError, AttributeError, OverflowError, RecursionError) as error:
        message = f"no readable limits, or those of another version of builder: {_name_fault(error)}"
        says_how = isinstance(error.__cause__, UnicodeDecodeError)
        raise ModelError(message, where=str(path), fix="" if says_how else fix) from error


def _name_fault(error: Exception) -> str:
    """What is wrong with a file, in words."""
    if isinstance(error, KeyError):
        return f"it lacks {error.args[0]!r}"
    if isinstance(error, TypeError | AttributeError):
        return "a value is of another type, such as a number in place of a table"
    return "it is nested too deeply" if isinstance(error, RecursionError) else str(error)


def _name_fix(folder: Path) -> str:
    """What to do where the model in a folder is broken."""
    if folder.resolve().is_relative_to(data_dir("domains").resolve()):
        return "reinstall builder"
    if folder.name == TAUGHT_MODEL:
        return "teach the working directory again with `builder gold gain --teach`"
    return "correct or remove it"


def _load_reader(folder: Path, device: str) -> TextReader:
    """The reader on a GPU by torch, elsewhere by numpy, which takes less time than torch and no import of it."""
    if device not in ("auto", "cpu") and not _has_networks():
        raise ModelError(f"the device {device} needs torch and transformers", fix=install_command("paper"))
    if may_take_gpu(device):
        from builder.learning import devices
        from builder.models.saved import load
        from builder.models.tagger import Tagger

        if devices.choose(device).type != "cpu":
            reader = load(folder, device)
            assert isinstance(reader, Tagger), "the reader finds triplets"
            return reader
    return open_numpy_reader(folder)


def may_take_gpu(device: str) -> bool:
    """Whether a reader on the device may run on a GPU, by what can be told without importing torch."""
    return has_gpu(device) and _has_networks()


def _has_networks() -> bool:
    return None not in (find_spec("torch"), find_spec("transformers"))


def write_taught(folder: Path, shipped: Path, combiner: Combiner | None, edge_margin: float | None = None) -> None:
    """Write the settings of a shipped model as `ShippedModel.weigh_by` changes them, if by labels there is another
    combiner, and with the margin of edges that they ask for.
    """
    settings = read_judge(shipped)
    if combiner is not None:
        settings["limits"]["dropped"] = settings["limits"]["limit"]
    own = combiner or Combiner.read(settings["combiner"])
    margin = own.edge_margin if edge_margin is None else edge_margin
    _write_judge(folder, settings | {"combiner": replace(own, edge_margin=margin).kept})


def _write_judge(folder: Path, settings: Mapping[str, Any]) -> None:
    write_atomically(folder / JUDGE, (json.dumps(settings, indent=1) + "\n").encode())
