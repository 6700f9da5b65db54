"""What `import builder` offers: extract triplets from texts, build a dataset from review files, read a release.

In: texts, review files, or a release directory. Out: `Document`s of `Triplet`s whose offsets are code points of the
text as it was given, and `Release`s. The names are those of the command line: `builder extract`, `builder build`,
`builder verify`, `builder diff`.

    >>> import builder
    >>> extract = builder.Extractor()
    >>> for triplet in extract("餐點不會太鹹，服務人員也很親切"):
    ...     print(triplet)
    餐點 · 不會鹹 · POS
    服務人員 · 親切 · POS
"""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from builder import markup
from builder.errors import BuilderError, ConfigError, install_command
from builder.export.records import ReviewRow, extracted, triplet
from builder.records import Element, Token, Triplet
from builder.release import reading
from builder.release.diff import Diff, between
from builder.settings import Convention

if TYPE_CHECKING:
    import pandas

    from builder.store.runs import Counts
    from builder.usecases.extraction import System

__all__ = ["BuildResult", "BuilderError", "Document", "Element", "Extractor", "Release", "Token", "Triplet", "build"]

PathLike = str | os.PathLike[str]
Progress = Callable[[int, int, str], None]
"""Called with the number of finished stages, the number of all, and the name of the stage that begins (at the end:
`done`).
"""


class Document(tuple[Triplet, ...]):
    """The triplets of a text, in the order of their opinions: a tuple that knows its text.

    Attributes:
        text: the text as it was given; all offsets are code points of it.
        id: the review's id in a release, else None.
        annotation: in a release the layer, `gold` or `silver` or the name of an augmentation; else empty.

    In a notebook it renders as the text with its triplets marked.

    >>> from builder import Extractor
    >>> document = Extractor()("湯頭濃郁")
    >>> document
    Document('湯頭濃郁', [湯頭 · 濃郁 · POS])
    >>> document[0].aspect.spans, document[0].valence, document[0].rule
    (((0, 2),), 7.7, 'subject')
    """

    text: str
    id: str | None
    annotation: str

    def __new__(
        cls, text: str, triplets: Iterable[Triplet] = (), *, id: str | None = None, annotation: str = ""
    ) -> Document:
        made = super().__new__(cls, triplets)
        made.text, made.id, made.annotation = text, id, annotation
        return made

    def __getnewargs_ex__(self) -> tuple[tuple[object, ...], dict[str, object]]:
        return (self.text, tuple(self)), {"id": self.id, "annotation": self.annotation}

    def rows(self) -> list[dict[str, object]]:
        """The triplets as `builder extract` writes them, ready for `json.dumps`."""
        return [dict(extracted(held)) for held in self]

    def explain(self) -> list[dict[str, object]]:
        """The story of each triplet: its row, and how it came about.

        Returns:
            For each triplet its row with `rule` (None without one), `path` (the steps from aspect to opinion in the
            dependency tree) and `evidence`: (kind, detail) pairs in the order of the decisions, with the lexicon
            entries by file and line.

        >>> from builder import Extractor
        >>> (story,) = Extractor()("湯頭不會太鹹").explain()
        >>> story["rule"], story["path"]
        ('subject', ['↑nsubj'])
        >>> [detail for kind, detail in story["evidence"] if kind == "negator"]
        ['不會']
        """
        return [
            {
                **extracted(held),
                "rule": held.rule,
                "path": list(held.path),
                "evidence": [list(step) for step in held.evidence],
            }
            for held in self
        ]

    def _repr_html_(self) -> str:
        marks = [mark for number, held in enumerate(self) for mark in held.marks(number)]
        triplets = "".join(f"<li>{held.html()}</li>" for held in self)
        shown = markup.marked(self.text, marks, numbers=True)
        return markup.boxed(
            f'<p class="text" lang="zh">{shown}</p>'
            + (f"<ol>{triplets}</ol>" if triplets else "<p><i>no triplet</i></p>")
        )

    def __repr__(self) -> str:
        return f"Document({self.text!r}, [{', '.join(map(str, self))}])"


class Extractor:
    """Finds triplets in texts: the rules, or with `from_workdir` what a build learnt. Call it with a text.

    It is ready when it is made, and reads on one thread. It may be used from one thread at a time.

    Args:
        convention: `natural`, or `paper` for the labels of Lu et al. (2024).
        lexicons: a folder of your own words, or several, laid over the shipped lexicon; later ones win.
            `builder lexicon import` and `builder lexicon induce` write such folders (`opinions/*.tsv`,
            `aspects/*.tsv`). A folder that also holds `variants.tsv` is a whole lexicon and takes the place of the
            shipped one.
        rules: a folder of rules in place of the shipped ones.
        backend: who finds words and dependencies: `embedded`, `ckip` or `ckip-stanza`.
        models: the folder of the backend's models, where they are not the shipped ones.

    Raises:
        ConfigError: an unknown backend or convention.
        ResourceError: a lexicon, rule or model file is missing or broken; the error says where.

    >>> from builder import Extractor
    >>> extract = Extractor()
    >>> extract("服務人員很親切")
    Document('服務人員很親切', [服務人員 · 親切 · POS])
    """

    def __init__(
        self,
        *,
        convention: Convention = "natural",
        lexicons: PathLike | Sequence[PathLike] = (),
        rules: PathLike | None = None,
        backend: str = "embedded",
        models: PathLike | None = None,
    ) -> None:
        from builder.reader import Recipe
        from builder.usecases.extraction import RuleSystem

        folders = [Path(folder) for folder in ([lexicons] if isinstance(lexicons, (str, os.PathLike)) else lexicons)]
        whole = [folder for folder in folders if (folder / "variants.tsv").is_file()]
        if len(whole) > 1:
            raise ConfigError(
                f"{' and '.join(map(str, whole))} are whole lexicons",
                fix="name one of them; the others are to be overlays",
            )
        overlays = tuple(folder for folder in folders if folder not in whole)
        recipe = Recipe(
            convention,
            overlays,
            whole[0] if whole else None,
            Path(rules) if rules else None,
            backend,
            Path(models) if models else None,
        )
        self._begin(RuleSystem(recipe))

    @classmethod
    def from_workdir(cls, workdir: PathLike, source: str = "", *, convention: Convention | None = None) -> Extractor:
        """What the build in a working directory learnt, with the words that it was given.

        Args:
            workdir: the `--workdir` of a build.
            source: a variant (`E`, or `A` to `D`: its last round), one round (`C1`), `rules`; empty for the last
                model of all.
            convention: as the build's, if not given.

        Raises:
            ConfigError: no such model was trained there; the error names those that were.
            WorkdirError: no build was begun there.

        Example: `Extractor.from_workdir("workdir", source="E")("湯頭濃郁")`
        """
        from builder.builds import remembered
        from builder.usecases.extraction import open_system

        settings = remembered(Path(workdir)).resolved.config
        models = Path(settings.annotate.models) if settings.annotate.models else None
        made = cls.__new__(cls)
        made._begin(
            open_system(
                Path(workdir), source, convention or settings.rules.convention, settings.annotate.backend, models
            )
        )
        return made

    def _begin(self, system: System) -> None:
        self._system = system
        system.extract(
            ("湯頭濃郁，服务很好",)
        )  # tables of both scripts and the dictionary load with the first text that needs them

    @property
    def source(self) -> str:
        """`rules`, or the name of the model: E0, C2."""
        return self._system.name

    def __call__(self, text: str) -> Document:
        """The triplets of one text, of any length and in either script. Offsets are code points of `text`.

        Raises:
            TypeError: `text` is no string; `stream` takes many texts.
        """
        return Document(text, self._system.extract((_checked(text),))[0])

    def stream(self, texts: Iterable[str], workers: int = 1) -> Iterator[Document]:
        """The documents of many texts, in order, as they are ready. `texts` may be endless: it is read some batches
        ahead.

        Args:
            texts: any iterable of strings.
            workers: processes that read; the answers do not depend on it. Fewer than 1,025 texts are read in this
                process.

        >>> from builder import Extractor
        >>> list(Extractor().stream(["湯頭濃郁", "服務很差"]))
        [Document('湯頭濃郁', [湯頭 · 濃郁 · POS]), Document('服務很差', [服務 · 差 · NEG])]
        """
        if isinstance(texts, str):
            raise TypeError("stream takes an iterable of texts; call the extractor with a single one")
        waiting = deque[str]()

        def remembered() -> Iterator[str]:
            for text in texts:
                waiting.append(_checked(text))
                yield text

        for triplets in self._system.stream(remembered(), workers):
            yield Document(waiting.popleft(), triplets)

    def tokens(self, text: str) -> tuple[Token, ...]:
        """The words of a text with universal tags, heads and dependency relations, as the rules read them.

        Raises:
            ConfigError: this extractor is a model, which reads characters.

        >>> from builder import Extractor
        >>> text = "湯頭濃郁"
        >>> [(text[token.start:token.end], token.pos, token.rel) for token in Extractor().tokens(text)]
        [('湯頭', 'NOUN', 'nsubj'), ('濃郁', 'ADJ', 'root')]
        """
        from builder.usecases.extraction import RuleSystem

        if not isinstance(self._system, RuleSystem):
            raise ConfigError(
                f"the model {self.source} reads characters, not words", fix="use Extractor() or source='rules'"
            )
        return tuple(self._system.reader.read((_checked(text),))[0].text_tokens)

    def __repr__(self) -> str:
        return f"<Extractor: {self.source}>"


def _checked(text: object) -> str:
    if not isinstance(text, str):
        raise TypeError(f"a text is a string, not {type(text).__name__}; Extractor.stream takes many texts")
    return text


class Release:
    """A released dataset: a directory such as `releases/v0.2.0`, made by `builder build` or downloaded.

    Raises:
        ReleaseError: the directory has no manifest that can be read.

    >>> import builder
    >>> release = builder.Release("releases/v0.2.0")
    >>> release.version, release.splits
    ('0.2.0', ('train', 'valid', 'test'))
    >>> review = next(release.reviews("test"))
    >>> review.id, review.annotation, len(review) > 0
    ('s0002', 'gold', True)
    """

    def __init__(self, path: PathLike) -> None:
        self.path = Path(path)
        self._opened = reading.opened(self.path)

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
            ReleaseError: a row cannot be read; the error names the line.
        """
        for _, row in self._rows(split):
            held = (replace(triplet(kept), source=", ".join(kept["sources"]) or "unknown") for kept in row["triplets"])
            yield Document(row["text"], held, id=row["id"], annotation=row["annotation"])

    def triplets(self, split: str | None = None) -> Iterator[Triplet]:
        """All triplets of `reviews(split)`, one after the other."""
        for review in self.reviews(split):
            yield from review

    def to_pandas(self, split: str | None = None) -> pandas.DataFrame:
        """A table with one triplet a row: split, id, annotation, text, and the columns of `builder extract`. Needs
        pandas.

        Reviews without a triplet have no row. Raises ConfigError where pandas is not installed.
        """
        try:
            import pandas
        except ImportError as error:
            raise ConfigError("Release.to_pandas needs pandas", fix=install_command("pandas")) from error
        splits = self.splits if split is None else (split,)
        rows = [
            {"split": name, "id": review.id, "annotation": review.annotation, "text": review.text, **row}
            for name in splits
            for review in self.reviews(name)
            for row in review.rows()
        ]
        return pandas.DataFrame(rows)

    def verify(self) -> list[str]:
        """Every fault of the release, by file and line; empty if it is sound. See `builder verify`."""
        from builder.release.verify import verify

        return verify(self.path)

    def diff(self, other: Release | PathLike, samples: int = 5) -> Diff:
        """What changed from this release to `other`: counts of each kind of change, up to `samples` of each, the
        version that follows.

        >>> import builder
        >>> change = builder.Release("releases/v0.1.0").diff("releases/v0.2.0")
        >>> change.level, change.same
        ('major', False)
        """
        return between(self.path, other.path if isinstance(other, Release) else Path(other), samples)

    def _rows(self, split: str | None) -> Iterator[tuple[str, ReviewRow]]:
        known = (*self.splits, *self.layers)
        if split is not None and split not in known:
            raise ConfigError(
                f"the release has no split {split!r}", where=str(self.path), fix=f"it has {', '.join(known)}"
            )
        for name in self.splits if split is None else (split,):
            for row in reading.rows(self.path, name):
                yield name, row

    def __repr__(self) -> str:
        counts = ", ".join(f"{name} {facts['reviews']:,}" for name, facts in self.manifest["splits"].items())
        return f"<Release {self.name} {self.version}: reviews {counts}>"


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
    from builder import builds, pipeline

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
