"""`build` makes a release of review files; `Release` reads one from disk.

In: review files or a table, and settings, or the folder of a release. Out: a `BuildResult` with what each stage
counted, or a `Release`. A `Release` gives its reviews as `Document`s, as a table or as a dataset. It can be verified,
and compared with another.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, is_dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from builder.api import documents
from builder.api.documents import Document
from builder.api.extractor import Extractor
from builder.core.errors import ConfigError
from builder.core.files import PathLike, write_atomically
from builder.core.records import Triplet
from builder.core.settings import Config
from builder.release import shelf
from builder.release.diff import Diff, between
from builder.release.export.native_rows import ReviewRow
from builder.release.verify import naming_faults

if TYPE_CHECKING:
    import datasets
    import pandas

    from builder.store.runs import Counts

# ---- Releases on disk


class Release:
    """A released dataset: a directory such as `releases/sample-3.0.0`, made by `builder build` or downloaded.

    Raises:
        ReleaseError: the directory has no manifest that can be read.

    >>> import builder
    >>> release = builder.Release("releases/sample-3.0.0")
    >>> release.name, release.splits
    ('sample-restaurant-aste', ('train', 'valid', 'test'))
    >>> review = next(release.reviews("test"))
    >>> review.id, review.annotation, len(review) > 0
    ('s0002', 'gold', True)
    """

    def __init__(self, path: PathLike) -> None:
        self.path = Path(path)
        self._opened = shelf.opened(self.path)

    @property
    def version(self) -> str:
        """MAJOR.MINOR.PATCH."""
        return str(self.manifest["version"])

    @property
    def name(self) -> str:
        """The name of the dataset."""
        return str(self.manifest.get("name", ""))

    @property
    def manifest(self) -> Mapping[str, Any]:
        """manifest.json: files with checksums, counts, settings, signatures of what made it."""
        return self._opened.manifest

    @property
    def splits(self) -> tuple[str, ...]:
        """train, valid, test."""
        return tuple(self._opened.splits)

    @property
    def layers(self) -> tuple[str, ...]:
        """The augmentation layers, by the names that `reviews` takes: train-synonym."""
        return tuple(self._opened.layers)

    def reviews(self, split: str | None = None) -> Iterator[Document]:
        """The reviews of a split or layer, in order; of all splits if none is named.

        Raises:
            ConfigError: the release has no such split.
            ReleaseError: a row cannot be read; the error names the line, or leads to `verify`.
        """
        for _, document in self._documents(split):
            yield document

    def triplets(self, split: str | None = None) -> Iterator[Triplet]:
        """All triplets of `reviews(split)`, one after the other."""
        for review in self.reviews(split):
            yield from review

    def to_pandas(self, split: str | None = None) -> pandas.DataFrame:
        """A table with one triplet a row, and a row for each review without any. Needs pandas.

        Columns: `split`, then those of `builder export --format csv`: the review's, where `source` says where it comes
        from, and the triplet's, where `sources` say who found it. Columns of the input that passed through follow as
        `columns.NAME`. Lists are lists. Raises ConfigError where pandas is
        not installed.
        """
        return documents.release_frame(self._documents(split))

    def to_dataset(self, split: str | None = None) -> datasets.Dataset | datasets.DatasetDict:
        """The rows of `data/SPLIT.jsonl` as a dataset of the library `datasets`, one review a row; all splits as a
        `DatasetDict` if none is named. The columns are those of the Parquet files.

        Raises:
            ConfigError: the release has no such split, or `datasets` is not installed.
        """
        kept = shelf.kept_columns(self.manifest["config"])
        return documents.make_datasets(self._rows, self.splits, split, self.layers, kept)

    def verify(self) -> list[str]:
        """Every fault of the release, by file and line; empty if it is sound. See `builder verify`."""
        from builder.release.verify import verify

        return verify(self.path)

    def diff(self, other: Release | PathLike, samples: int = 5) -> Diff:
        """What changed from this release to `other`: counts of each kind of change, up to `samples` of each, the
        version that follows.

        >>> import builder
        >>> change = builder.Release("releases/sample-2.0.0").diff("releases/sample-3.0.0")
        >>> change.level, change.same
        ('major', False)
        """
        return between(self.path, other.path if isinstance(other, Release) else Path(other), samples)

    def _documents(self, split: str | None) -> Iterator[tuple[str, Document]]:
        for name, row in self._rows(split):
            with naming_faults(self.path):
                document = Document.of_row(row)
            yield name, document

    def _rows(self, split: str | None) -> Iterator[tuple[str, ReviewRow]]:
        known = (*self.splits, *self.layers)
        if split is not None and split not in known:
            raise ConfigError(
                f"the release has no split {split!r}", where=str(self.path), fix=f"it has {', '.join(known)}"
            )
        for name in self.splits if split is None else (split,):
            for row in shelf.rows(self.path, name):
                yield name, row

    def __repr__(self) -> str:
        counts = ", ".join(f"{name} {facts['reviews']:,}" for name, facts in self.manifest["splits"].items())
        return f"<Release {self.name} {self.version}: reviews {counts}>"


# ---- Building

Progress = Callable[[int, int, str], None]
"""Called with the number of finished stages, the number of all, and the name of the stage that begins (at the end:
`done`).
"""


@dataclass(frozen=True, slots=True)
class BuildResult:
    """What a build made.

    Attributes:
        workdir: the working directory, with the database and the models.
        counts: by stage, what went in and what came out, as `builder status` shows it.
        seconds: by stage, how long it took when it ran.
        release: the release; None where `until` ended the build before.
    """

    workdir: Path
    counts: Mapping[str, Counts] = field(repr=False)
    seconds: Mapping[str, float] = field(repr=False)
    release: Release | None

    def extractor(self, source: str = "") -> Extractor:
        """What the build learnt: `Extractor.from_workdir`."""
        return Extractor.from_workdir(self.workdir, source)


_TABLE = "reviews.jsonl"
"""Where the rows of a table stand in the working directory."""


def build(
    inputs: PathLike | Sequence[PathLike] | documents.Table = (),
    *,
    workdir: PathLike = "workdir",
    out: PathLike = "releases",
    config: PathLike | None = None,
    until: str = "release",
    overwrite: bool = False,
    progress: Progress | None = None,
    **settings: object,
) -> BuildResult:
    """Turn reviews into a released dataset: `builder build`. What an earlier call in `workdir` finished is not done
    again.

    Args:
        inputs: CSV, TSV, JSON lines, JSON, Parquet or XLSX files, or plain text with a review a line (.gz too); the
            shipped sample if there are none. Or a table with a review a row: a pandas.DataFrame, a datasets.Dataset, or
            a list of dictionaries. Its rows are kept in the working directory as `reviews.jsonl`; its columns are
            guessed or named as those of a file.
        workdir: the working directory; made if it is not there.
        out: where releases go, each in a directory of its own.
        config: a TOML file with settings.
        until: the stage to end with: ingest, annotate, seed, discriminate, self_train, evaluate or release.
        overwrite: whether a working directory that holds another dataset may be taken for this one.
        progress: called before each stage with (finished stages, all stages, name), and at the end with (all, all,
            "done").
        settings: settings by name. Those of a stage are a mapping (`self_train={"iterations": 1}`) or dotted
            (`**{"self_train.iterations": 1}`).

    Raises:
        ConfigError: an unknown setting or stage, or a value outside its range; a table that holds no rows.
        InputError: a file cannot be used; the error says where.
        WorkdirError: another build runs there, it holds another dataset, or what it read changed meanwhile.
        ReleaseError: releases cannot be written to `out`, or one would lose much of the last.

    >>> import builder, pathlib, tempfile
    >>> folder = pathlib.Path(tempfile.mkdtemp())
    >>> _ = (folder / "reviews.csv").write_text("text\\n湯頭濃郁，服務很差\\n牛肉麵好吃\\n", encoding="utf-8")
    >>> made = builder.build(folder / "reviews.csv", workdir=folder / "work", out=folder, until="seed", workers=1)
    >>> made.counts["ingest"]["reviews"], made.counts["seed"]["triplets"]
    (2, 3)
    """
    from builder.pipeline import builds, pipeline

    made = builds.new_build(
        _find_files(inputs, Path(workdir)), Path(workdir), Path(out), Path(config) if config else None, _flat(settings)
    )
    done = pipeline.run(
        made, until=until, overwrite=overwrite, progress=progress or (lambda finished, total, note: None)
    )
    last = done[-1]
    return BuildResult(
        made.workdir,
        {stage.stage: stage.counts for stage in done},
        {stage.stage: stage.seconds for stage in done},
        Release(str(last.counts["path"])) if last.stage == "release" else None,
    )


def _find_files(inputs: object, workdir: Path) -> tuple[Path, ...]:
    """The files to read; the rows of a table are written to one first."""
    if isinstance(inputs, (str, os.PathLike)):
        return (Path(inputs),)
    rows = documents.write_rows(inputs)
    if rows is None:
        return tuple(Path(path) for path in inputs)  # type: ignore[attr-defined]
    write_atomically(workdir / _TABLE, rows)
    return (workdir / _TABLE,)


def _flat(settings: Mapping[str, object], prefix: str = "") -> dict[str, object]:
    """Settings by dotted key."""
    out: dict[str, object] = {}
    for name, value in settings.items():
        if isinstance(value, Mapping) and (value or is_dataclass(getattr(Config(), name, None))):
            out |= _flat(value, f"{prefix}{name}.")
        else:
            out[prefix + name] = tuple(value) if isinstance(value, list) else value
    return out
