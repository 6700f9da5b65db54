"""`build`: review files in, a released dataset out, with what each stage counted."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from builder.api.extractor import Extractor
from builder.api.release import Release
from builder.core.files import PathLike

if TYPE_CHECKING:
    from builder.store.runs import Counts

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
    counts: Mapping[str, Counts]
    seconds: Mapping[str, float]
    release: Release | None

    def extractor(self, source: str = "") -> Extractor:
        """What the build learnt: `Extractor.from_workdir`."""
        return Extractor.from_workdir(self.workdir, source)


def build(
    inputs: PathLike | Sequence[PathLike] = (),
    *,
    workdir: PathLike = "workdir",
    out: PathLike = "releases",
    config: PathLike | None = None,
    until: str = "release",
    overwrite: bool = False,
    progress: Progress | None = None,
    **settings: object,
) -> BuildResult:
    """Turn review files into a released dataset: `builder build`. What an earlier call in `workdir` finished is not
    done again.

    Args:
        inputs: CSV, TSV, JSON lines, JSON, Parquet or XLSX files (.gz too); the shipped sample if there are none.
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
        ConfigError: an unknown setting or stage, or a value outside its range.
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

    given = [inputs] if isinstance(inputs, (str, os.PathLike)) else inputs
    made = builds.new_build(
        tuple(Path(path) for path in given), Path(workdir), Path(out), Path(config) if config else None, _flat(settings)
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


def _flat(settings: Mapping[str, object], prefix: str = "") -> dict[str, object]:
    """Settings by dotted key."""
    out: dict[str, object] = {}
    for name, value in settings.items():
        if isinstance(value, Mapping):
            out |= _flat(value, f"{prefix}{name}.")
        else:
            out[prefix + name] = tuple(value) if isinstance(value, list) else value
    return out
