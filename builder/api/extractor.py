"""`Extractor` finds the triplets of a text, by the rules or by a model that a build trained.

In: a text. Out: a `Document`, the text with its triplets. A `Release` gives its reviews as `Document`s too.
"""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from builder.core import markup
from builder.core.errors import ConfigError
from builder.core.files import PathLike
from builder.core.machine import uncollected
from builder.core.records import Token, Triplet
from builder.core.settings import RESTAURANT, Convention
from builder.release.export.records import extracted

if TYPE_CHECKING:
    from builder.engine.reader import Reader, Recipe
    from builder.pipeline.extraction import System

# ---- Documents


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


# ---- Extractors


class Extractor:
    """Finds triplets in texts: the rules, or with `from_workdir` what a build learnt. Call it with a text.

    It is ready when it is made, and reads on one thread. It may be used from one thread at a time.

    Args:
        convention: `natural`, or of Lu et al. (2024) `paper` for the released labels and `described` for section 3.2.
        lexicons: a folder of your own words, or several, laid over the shipped lexicon; later ones win.
            `builder words lexicon import` and `builder words lexicon induce` write such folders (`opinions/*.tsv`,
            `aspects/*.tsv`). A folder that also holds `variants.tsv` is a whole lexicon and takes the place of the
            shipped one.
        rules: a folder of rules in place of the shipped ones.
        backend: who finds words and dependencies: `embedded`, `ckip`, `ckip-stanza` or `hub`.
        models: the folder of the backend's models, where they are not the shipped ones.
        domain: what the texts are about: `restaurant` or `laptop`, the folder of a domain pack, or `none` for the
            words and rules of any review.
        device: where the models of `ckip` and `hub` run: `auto`, `cpu`, `cuda`, `cuda:1` or `mps`.
        source: `rules`, or `E`: the rules with the model that builder ships, which judges what they find and adds
            what they miss. `E` is slower, and right more often.

    Raises:
        ConfigError: an unknown backend, convention, domain or source; or a domain that ships no model for `E`.
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
        domain: PathLike = RESTAURANT,
        device: str = "auto",
        source: Literal["rules", "E"] = "rules",
    ) -> None:
        with uncollected():
            from builder.engine.reader import RuleSystem

            recipe = _make_recipe(convention, (lexicons, rules, domain), backend, models, device)
            if source not in ("rules", "E"):
                raise ConfigError(f"no source is called {source!r}", fix="known: rules, E")
            self._begin(RuleSystem(recipe) if source == "rules" else _open_shipped(recipe))

    @classmethod
    def from_workdir(
        cls, workdir: PathLike, source: str = "", *, convention: Convention | None = None, device: str = "auto"
    ) -> Extractor:
        """What the build in a working directory learnt, with the words that it was given.

        Args:
            workdir: the `--workdir` of a build.
            source: a variant (`E`, or `A` to `D`: its last round), one round (`C1`), `rules`; empty for the last
                model of all.
            convention: as the build's, if not given.
            device: where models run; `auto` is that of the build.

        Raises:
            ConfigError: no such model was trained there; the error names those that were.
            WorkdirError: no build was begun there; the rules alone need none where a database is.

        Example: `Extractor.from_workdir("workdir", source="E")("湯頭濃郁")`
        """
        with uncollected():
            from builder.pipeline.builds import remembered
            from builder.pipeline.extraction import open_build_system
            from builder.store import db

            if source != "rules" or not (Path(workdir) / db.NAME).is_file():
                remembered(Path(workdir))  # WorkdirError where no build was begun
            made = cls.__new__(cls)
            made._begin(open_build_system(Path(workdir), source, convention, device=device))
        return made

    @classmethod
    def from_model(cls, folder: PathLike, *, device: str = "auto") -> Extractor:
        """A model that was published, from its folder: what `builder versions publish --model` sends. It runs on
        `device`.

        Raises:
            ModelError: the folder holds no such model, or one that is damaged.

        Example: `Extractor.from_model("C3")("湯頭濃郁")`
        """
        with uncollected():
            from builder.pipeline.extraction import open_build_system

            made = cls.__new__(cls)
            made._begin(open_build_system(None, os.path.join(folder, ""), device=device))
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
        return tuple(self._reader.read((_checked(text),))[0].text_tokens)

    def refusals(self, text: str) -> list[dict[str, object]]:
        """The opinion words of a text that judge nothing where they stand, and the aspects of which nothing is said.

        Each with the rule that says so.

        Raises:
            ConfigError: this extractor is a model, which has no rules.

        >>> from builder import Extractor
        >>> Extractor().refusals("現場很多客人")
        [{'text': '很多', 'span': [2, 4], 'rule': 'counts-what-follows'}]
        """
        reading = self._reader.read((_checked(text),))[0]
        found = self._reader.engine.find_refusals(reading.doc)
        spans = [reading.view.to_source((refusal.start, refusal.end)) for refusal in found]
        return [
            {"text": text[start:end], "span": [start, end], "rule": refusal.rules[0]}
            for (start, end), refusal in zip(spans, found, strict=True)
        ]

    @property
    def _reader(self) -> Reader:
        from builder.engine.reader import RuleSystem

        if not isinstance(self._system, RuleSystem):
            raise ConfigError(
                f"the model {self.source} reads characters, not words", fix="use Extractor() or source='rules'"
            )
        return self._system.reader

    def __repr__(self) -> str:
        return f"<Extractor: {self.source}>"


def _open_shipped(recipe: Recipe) -> System:
    from builder.pipeline.extraction import open_shipped

    return open_shipped(recipe)


def _make_recipe(
    convention: Convention,
    words: tuple[PathLike | Sequence[PathLike], PathLike | None, PathLike],
    backend: str,
    models: PathLike | None,
    device: str,
) -> Recipe:
    from builder.engine.reader import Recipe
    from builder.language.lexicon.folders import Folders

    lexicons, rules, domain = words
    folders = [Path(folder) for folder in ([lexicons] if isinstance(lexicons, (str, os.PathLike)) else lexicons)]
    whole = [folder for folder in folders if (folder / "variants.tsv").is_file()]
    if len(whole) > 1:
        raise ConfigError(
            f"{' and '.join(map(str, whole))} are whole lexicons",
            fix="name one of them; the others are to be overlays",
        )
    overlays = tuple(folder for folder in folders if folder not in whole)
    added = Folders(whole[0] if whole else None, overlays, Path(rules) if rules else None, domain=str(domain))
    return Recipe(convention, added, backend, Path(models) if models else None, device)


def _checked(text: object) -> str:
    if not isinstance(text, str):
        raise TypeError(f"a text is a string, not {type(text).__name__}; Extractor.stream takes many texts")
    return text
