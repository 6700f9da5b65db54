"""`Extractor` finds the triplets of a text, by the rules or by a model that a build trained.

In: a text. Out: a `Document`, the text with its triplets. A `Release` gives its reviews as `Document`s too.
"""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Literal, overload

from builder.api import documents
from builder.api.documents import Document
from builder.core.errors import ConfigError
from builder.core.files import PathLike
from builder.core.machine import uncollected
from builder.core.records import Token
from builder.core.settings import RESTAURANT, Convention

if TYPE_CHECKING:
    import pandas

    from builder.engine.reader import Reader, Recipe
    from builder.pipeline.extraction import System


class Extractor:
    """Finds triplets in texts: the rules, or with `from_workdir` what a build learnt. Call it with a text.

    It is ready when it is made, and reads on one thread. It may be used from one thread at a time.

    Args:
        convention: `natural`, or of Lu et al. (2024) `paper` for the released labels and `described` for section 3.2.
        lexicons: a folder of your own words, or several, laid over the shipped lexicon; later ones win.
            `builder words lexicon import` writes such a folder (`opinions/*.tsv`, `aspects/*.tsv`). A folder that also
            holds `variants.tsv` is a whole lexicon and takes the place of the shipped one.
        rules: a folder of rules in place of the shipped ones.
        backend: who finds words and dependencies: `embedded`, `ckip` or `ckip-stanza`.
        models: the folder of the backend's models, where they are not the shipped ones.
        domain: what the texts are about: `restaurant`, `laptop` or `hotels`, the folder of a domain pack, or
            `none` for the words and rules of any review.
        device: where the models of `ckip` run: `auto`, `cpu`, `cuda`, `cuda:1` or `mps`.
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
            from builder.pipeline.rule_system import RuleSystem

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
            from builder.pipeline.extraction import open_system
            from builder.store import db

            if source != "rules" or not (Path(workdir) / db.NAME).is_file():
                remembered(Path(workdir))  # WorkdirError where no build was begun
            made = cls.__new__(cls)
            made._begin(open_system(Path(workdir), source, convention, device=device))
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
            from builder.pipeline.extraction import open_system

            made = cls.__new__(cls)
            made._begin(open_system(None, os.path.join(folder, ""), device=device))
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

    @overload
    def stream(
        self, texts: Iterable[str], workers: int = 1, *, with_ids: Literal[False] = False
    ) -> Iterator[Document]: ...

    @overload
    def stream(
        self, texts: Iterable[tuple[object, str]], workers: int = 1, *, with_ids: Literal[True]
    ) -> Iterator[Document]: ...

    def stream(self, texts: Iterable[object], workers: int = 1, *, with_ids: bool = False) -> Iterator[Document]:
        """The documents of many texts, in order, as they are ready. `texts` may be endless: it is read some batches
        ahead.

        Args:
            texts: any iterable of strings, such as a column of a table. One that is missing (NaN) gives an empty
                document.
            workers: processes that read; the answers do not depend on it. Fewer than 1,025 texts are read in this
                process.
            with_ids: whether `texts` are pairs of an id and a string, as `Series.items()` gives them. The id becomes
                that of the document.

        Raises:
            TypeError: something in `texts` is no string, or no pair.

        >>> from builder import Extractor
        >>> list(Extractor().stream(["湯頭濃郁", "服務很差"]))
        [Document('湯頭濃郁', [湯頭 · 濃郁 · POS]), Document('服務很差', [服務 · 差 · NEG])]
        >>> [document.id for document in Extractor().stream([("a7", "湯頭濃郁")], with_ids=True)]
        ['a7']
        """
        if isinstance(texts, str):
            raise TypeError("stream takes an iterable of texts; call the extractor with a single one")
        waiting = deque[tuple[object, str]]()

        def remembered() -> Iterator[str]:
            pairs = map(_checked_pair, texts) if with_ids else ((None, text) for text in documents.present_texts(texts))
            for key, given in pairs:
                text = _checked(given)
                waiting.append((key, text))
                yield text

        for triplets in self._system.stream(remembered(), workers):
            key, text = waiting.popleft()
            yield Document(text, triplets, id=key)

    def frame(self, data: documents.Table, text: str | None = None, workers: int = 1) -> pandas.DataFrame:
        """The triplets of a table of texts as a table with one triplet a row. Needs pandas.

        Args:
            data: a pandas.DataFrame or Series, a datasets.Dataset, or a list of dictionaries.
            text: the column with the texts; `text` if not given.
            workers: as in `stream`.

        Returns:
            The columns of a triplet as `Release.to_pandas` has them. The index holds the label of the row that the
            triplet stands in, so that `data.join(extract.frame(data))` puts both side by side, texts without a triplet
            as well.

        Raises:
            ConfigError: `data` has no such column, or pandas is not installed.
            TypeError: `data` is no table, or something in the column is no string.

        >>> import pandas
        >>> from builder import Extractor
        >>> table = pandas.DataFrame({"評論": ["湯頭濃郁，服務很差", None]}, index=["a", "b"])
        >>> frame = Extractor().frame(table, text="評論")
        >>> list(zip(frame.index, frame["aspect"], frame["polarity"]))
        [('a', '湯頭', 'POS'), ('a', '服務', 'NEG')]
        """
        table = documents.as_frame(data)
        return documents.found_frame(self.stream(documents.text_column(table, text), workers), table.index)

    def tokens(self, text: str) -> tuple[Token, ...]:
        """The words of a text with universal tags, heads and dependency relations, as the rules read them.

        Raises:
            ConfigError: this extractor is a model alone, which reads characters.

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
            ConfigError: this extractor is a model alone, which has no rules.

        >>> from builder import Extractor
        >>> Extractor().refusals("現場很多客人")  # doctest: +NORMALIZE_WHITESPACE
        [{'text': '很多', 'span': [2, 4], 'rule': 'counts-what-follows'},
         {'text': '客人', 'span': [4, 6], 'rule': 'people-uncounted'}]
        """
        reading = self._reader.read((_checked(text),))[0]
        refusals = self._reader.engine.find_refusals(reading.doc)
        spans = [reading.view.to_source((refusal.start, refusal.end)) for refusal in refusals]
        return [
            {"text": text[start:end], "span": [start, end], "rule": refusal.rules[0]}
            for (start, end), refusal in zip(spans, refusals, strict=True)
        ]

    @property
    def _reader(self) -> Reader:
        reader = self._system.reader
        if reader is None:
            raise ConfigError(
                f"the model {self.source} reads characters, not words", fix="use Extractor() or source='rules'"
            )
        return reader

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
            f"{' and '.join(map(str, whole))} are whole lexicons", fix="name one of them; the others are to be overlays"
        )
    overlays = tuple(folder for folder in folders if folder not in whole)
    added = Folders(whole[0] if whole else None, overlays, Path(rules) if rules else None, domain=str(domain))
    return Recipe(convention, added, backend, Path(models) if models else None, device)


def _checked_pair(pair: object) -> tuple[object, object]:
    if not isinstance(pair, (tuple, list)) or len(pair) != 2:
        raise TypeError(f"with_ids takes pairs of an id and a text, not {type(pair).__name__}")
    key, text = pair
    return key, next(documents.present_texts([text]))


def _checked(text: object) -> str:
    if not isinstance(text, str):
        raise TypeError(f"a text is a string, not {type(text).__name__}; Extractor.stream takes many texts")
    return text
