"""What all our pages over Datasette do: read what a visitor selects, ask the store, mark texts, fill a template, refuse
with a sentence.

A selection is what the address of a page says: the search, the filters, the kinds of triplets, the script. Pages ask
through Datasette's connections. `metadata` is what Datasette says about our tables, columns and queries. A typed
sentence is shown with its triplets and the candidates that were weighed. Nothing of it is kept, and it has a longest
length and a longest time.
"""

from __future__ import annotations

import asyncio
import sqlite3
from collections.abc import Awaitable, Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Protocol, TypeVar
from urllib.parse import quote, urlencode

from builder.core import markup
from builder.core.errors import QueryError
from builder.core.markup import SpanMark
from builder.core.records import Span, StoredTriplet, Token, Triplet
from builder.reviews.repair import fold
from builder.store import browse, queries, search
from builder.store.browse import ALL, GOLD, LEFT_OUT, MODELS, RELEASED, RULES, Script
from builder.store.listing import REVIEW_FILTERS, TRIPLET_FILTERS, WORD_FILTERS, Filters
from builder.store.queries import describe_tables

if TYPE_CHECKING:
    from markupsafe import Markup

# ---- What a visitor selects

KINDS: dict[str, tuple[int, str]] = {
    "released": (RELEASED, "triplets of the last release"),
    "rules": (RULES, "what the rules propose, released or not"),
    "models": (MODELS, "what a trained model proposes, released or not"),
    "gold": (GOLD, "what gold says"),
    "rejected": (LEFT_OUT, "candidates that the release left out"),
}
"""Value of the parameter `show` -> its bit, and what it shows."""
FILTERS = (*REVIEW_FILTERS, *TRIPLET_FILTERS, *WORD_FILTERS)
MOST_WORDS = 32
"""Words of a search: each is a look into the index."""
_LONGEST = 200
_SCRIPTS: tuple[Script, ...] = ("traditional", "simplified")


@dataclass(frozen=True, slots=True)
class Selection:
    """`show` are the chosen kinds, () for the default; `there` the bits that there are; `values` the filters that
    are set.
    """

    query: str
    values: tuple[tuple[str, str], ...]
    show: tuple[str, ...]
    script: Script
    there: int

    @classmethod
    def of(cls, args: Any, cookie: str, there: int) -> Selection:
        """What the parameters of a request select; strange values select nothing, and are no error."""
        words = [word for value in args.getlist("show") for word in value.split(",")]
        show = tuple(name for name, (bit, _) in KINDS.items() if name in words and bit & there)
        values = tuple((name, value[:_LONGEST]) for name in FILTERS if (value := args.get(name) or ""))
        chosen = args.get("script") or cookie
        script = next((name for name in _SCRIPTS if name == chosen), _SCRIPTS[0])
        return cls(args.get("q") or "", values, () if show == cls._default(there) else show, script, there)

    @staticmethod
    def _default(there: int) -> tuple[str, ...]:
        """What was released; without a release everything."""
        return ("released",) if there & RELEASED else tuple(name for name, (bit, _) in KINDS.items() if bit & there)

    @property
    def shown(self) -> tuple[str, ...]:
        """The kinds that are shown."""
        return self.show or self._default(self.there)

    @property
    def kinds(self) -> int:
        """The same as bits."""
        return sum(KINDS[name][0] for name in self.shown) or ALL

    @property
    def filters(self) -> Filters:
        """For the store; Refused where the search has too many words."""
        words = search.words_of(self.query)
        if len(words) > MOST_WORDS:
            raise Refused(f"a search takes up to {MOST_WORDS} words; {len(words)} were given")
        match = search.match(words) if any(map(fold, words)) else ""
        values = {name: fold(value) if name in WORD_FILTERS else value for name, value in self.values}
        return Filters(kinds=self.kinds, match=match, **values)

    @property
    def words(self) -> list[str]:
        """The words of the search, folded."""
        return [fold(word) for word in search.words_of(self.query)]

    def toggles(self, path: str, numbers: Mapping[int, int] | None = None, **more: object) -> list[dict[str, Any]]:
        """The kinds that there are to show, each with the link to `path` that turns it round; `numbers` are by bit."""
        made = []
        for name, (bit, about) in KINDS.items():
            turned = ",".join(kind for kind in KINDS if (kind in self.shown) != (kind == name))
            link, number = self.with_(show=turned).link(path, **more), None if numbers is None else numbers[bit]
            toggle = {"name": name, "about": about, "on": name in self.shown, "link": link, "number": number}
            made += [toggle] if bit & self.there else []
        return made

    def value(self, name: str) -> str:
        """The value of a filter, "" where it is not set."""
        return dict(self.values).get(name, "")

    def with_(self, **changes: str) -> Selection:
        """The same with other values of filters ("" unsets one), of `q`, and of `show` (names with commas)."""
        values = {**dict(self.values), **{name: value for name, value in changes.items() if name in FILTERS}}
        show = changes.get("show")
        chosen = self.show if show is None else tuple(name for name in KINDS if name in show.split(","))
        return replace(
            self,
            query=changes.get("q", self.query),
            values=tuple((name, values[name]) for name in FILTERS if values.get(name)),
            show=() if chosen == self._default(self.there) else chosen,
        )

    def link(self, path: str, **more: object) -> str:
        """An address that keeps the selection. `more` are parameters of the page itself; empty ones are left out."""
        parts = [("q", self.query), *self.values, ("show", ",".join(self.show)), *more.items()]
        text = urlencode([(name, str(value)) for name, value in parts if value not in ("", None)])
        return f"{path}?{text}" if text else path

    def without(self, path: str) -> str:
        """The same page with nothing selected but the kinds."""
        return replace(self, query="", values=()).link(path)


# ---- Descriptions of tables, columns and queries

DATABASE = "builder"

_TRIPLET_LIST = (
    "Candidates: every triplet that a source proposes, released or not. The id leads to its story, the review to its "
    "page.",
    {
        "id": "Number of the triplet; leads to its story.",
        "review": "Id of the review in the input.",
        "aspect": "The term that is judged, as the review writes it.",
        "opinion": "The core word with its negator: 不會鹹 of 不會太鹹.",
        "polarity": "POS, NEG or NEU.",
        "valence": "From 1 (bad) to 10 (good); 5 is neutral.",
        "split": "train, valid or test.",
        "released": "Release that holds it; empty: it was left out.",
        "confidence": "How likely it is right, 0 to 1, by the calibrated judge.",
        "aspect_category": "Class of the aspect in the lexicon, of released triplets.",
        "opinion_category": "Category of the opinion in the lexicon, of released triplets.",
        "source": "Where the review comes from.",
        "sources": "Who says it: rules, a model (C2: variant C, round 2), the discriminator that calls it right, gold.",
        "rule": "Pairing rule that made it.",
        "verdict": "The judge: YY accepted, YN polarity doubted, NX pair doubted, empty: it abstains.",
        "text": "Beginning of the review.",
    },
)
"""The flat table that only the pages have; the others are described in the store."""
_HIDDEN = (
    "annotations", "settings", "search", "releases", "current_triplets", *browse.TABLES,
)  # fmt: skip


def metadata(title: str, source: str) -> dict[str, Any]:
    """Datasette's metadata: descriptions, facets and canned queries. `title` names the data, `source` says where it
    came from.
    """
    tables: dict[str, Any] = {name: _plain(table.about, table.columns) for name, table in describe_tables().items()}
    tables |= {browse.TABLE: _plain(*_TRIPLET_LIST)} | {name: {"hidden": True} for name in _HIDDEN}
    tables[browse.TABLE] |= {
        "facets": ["released", "polarity", "split", "verdict", "rule"],
        "size": 50,
        "sort": "id",
        "label_column": "aspect",
    }
    return {
        "title": title,
        "databases": {
            DATABASE: {
                "description": source,
                "tables": tables,
                "queries": {name: _canned(name) for name in queries.names()},
            }
        },
    }


def _plain(about: str, columns: Mapping[str, str]) -> dict[str, Any]:
    """Datasette shows descriptions as text: no marks of code."""
    return {
        "description": about.replace("`", ""),
        "columns": {name: sentence.replace("`", "") for name, sentence in columns.items()},
    }


def _canned(name: str) -> dict[str, Any]:
    query = queries.lookup(name)
    return {
        "sql": query.sql,
        "title": query.title,
        "description": query.description,
        "params": list(query.params),
        "hide_sql": True,
    }


# ---- Typed sentences

LONGEST = 300
SECONDS = 3.0
EXAMPLE = "餐點不會太鹹，服務人員也很親切，可惜等太久"


class Reads(Protocol):
    """A `builder.Extractor`, by what is needed of it."""

    @property
    def source(self) -> str:
        """`rules`, or the name of rules and model together."""
        ...

    def __call__(self, text: str) -> Sequence[Triplet]:
        """The triplets of a text."""
        ...

    def tokens(self, text: str) -> tuple[Token, ...]:
        """The words of a text."""
        ...


@dataclass(frozen=True, slots=True)
class ReadSentence:
    """A sentence with its triplets and words; `source`: that of what read it."""

    text: str
    source: str
    triplets: tuple[Triplet, ...]
    tokens: tuple[Token, ...]


@dataclass(slots=True)
class Extracting:
    """Reads sentences one after another, in a thread of its own; the extractor is made when the first one comes."""

    make: Callable[[], Reads]
    seconds: float = SECONDS
    _thread: ThreadPoolExecutor = field(default_factory=lambda: ThreadPoolExecutor(1, "extracting"))
    _extractor: Reads | None = None

    async def read(self, text: str) -> ReadSentence | None:
        """What a sentence says; None where that takes too long, or where others are before it for so long."""
        work = asyncio.get_running_loop().run_in_executor(self._thread, self._read, text)
        try:
            limit = self.seconds if self._extractor is not None else 20 * self.seconds  # making it takes a while
            return await asyncio.wait_for(work, limit)
        except TimeoutError:
            return None

    def _read(self, text: str) -> ReadSentence:
        if self._extractor is None:
            self._extractor = self.make()
        return ReadSentence(text, self._extractor.source, tuple(self._extractor(text)), self._extractor.tokens(text))


# ---- Marked texts, as safe HTML


def mark_triplets(stored: Sequence[StoredTriplet], shades: Mapping[int, str] = MappingProxyType({})) -> list[SpanMark]:
    """Aspect and opinion of each triplet, numbered in the given order. `shades`: a class by the triplet's id."""
    return [
        replace(mark, shade=shades.get(row.id, ""))
        for number, row in enumerate(stored)
        for mark in row.triplet.marks(number)
    ]


def shade_of(confidence: float | None) -> str:
    """The class of a confidence: s0 (below 0.5), s5, s6 … s9; "" where there is none."""
    if confidence is None:
        return ""
    return "s0" if confidence < 0.5 else f"s{min(9, int(10 * confidence + 1e-9))}"


def marked(text: str, shown: Sequence[SpanMark]) -> Markup:
    """`text` with `shown` marked; one keyboard stop a triplet."""
    from markupsafe import Markup

    return Markup(markup.marked(text, shown, stops=True))


def plain(text: str) -> Markup:
    """Escaped text whose control and direction characters are named instead of obeyed."""
    from markupsafe import Markup

    return Markup(markup.plain(text))


def mark_hits(text: str, places: Sequence[Span]) -> Markup:
    """Text with the spans of a search marked."""
    from markupsafe import Markup

    parts, at = [], 0
    for start, end in places:
        parts += [markup.plain(text[at:start]), f"<mark>{markup.plain(text[start:end])}</mark>"]
        at = end
    return Markup("".join([*parts, markup.plain(text[at:])]))


# ---- Answers of our pages

Answer = TypeVar("Answer")
View = Callable[[Any, Any], Awaitable[Any]]
"""Of a request and a datasette: the response."""
_KEPT = 64
SCRIPT_COOKIE = "script"


@dataclass(slots=True)
class Site:
    """What an instance of Datasette is about, and the address it listens on. `kept`: answers by what was asked; they
    stay right, for nothing changes. `extracting`: what reads a sentence that somebody types.
    """

    title: str
    source: str
    host: str
    extracting: Extracting | None = None
    kept: dict[object, Any] = field(default_factory=dict)


def site(datasette: Any) -> Site | None:
    """The site that an instance shows; None for instances that are not ours."""
    return getattr(datasette, "builder_site", None)


def quoted(text: str) -> str:
    """Text as a part of a URL."""
    return quote(text, safe="")


async def ask(datasette: Any, work: Callable[[sqlite3.Connection], Answer]) -> Answer:
    """`work` on one of Datasette's connections, in its threads, within the time of any query."""
    from datasette.utils import sqlite_timelimit

    def limited(connection: sqlite3.Connection) -> Answer:
        with sqlite_timelimit(connection, datasette.sql_time_limit_ms):
            return work(connection)

    answer: Answer = await datasette.get_database(DATABASE).execute_fn(limited)
    return answer


async def ask_once(datasette: Any, key: object, work: Callable[[sqlite3.Connection], Answer]) -> Answer:
    """The same, for answers that are kept by `key`: the last ones that were asked for."""
    shown = site(datasette)
    assert shown is not None
    answer: Answer = shown.kept.pop(key) if key in shown.kept else await ask(datasette, work)
    shown.kept[key] = answer  # the last in order, so that what is asked for often stays
    while len(shown.kept) > _KEPT:
        del shown.kept[next(iter(shown.kept))]
    return answer


async def selection(request: Any, datasette: Any) -> Selection:
    """What a request selects: filters, kinds of triplets, script."""
    there = await ask_once(datasette, "kinds", browse.kinds_there)
    return Selection.of(request.args, request.cookies.get(SCRIPT_COOKIE, ""), there)


async def page(datasette: Any, request: Any, template: str, context: dict[str, Any], status: int = 200) -> Any:
    """A filled template; a script that the request names is remembered in a cookie."""
    from datasette.utils.asgi import Response

    response = Response.html(await datasette.render_template(template, context, request=request), status=status)
    if request.args.get("script"):
        script = (await selection(request, datasette)).script
        response.set_cookie(SCRIPT_COOKIE, script, max_age=31_536_000, samesite="strict", httponly=True)
    return response


class Refused(QueryError):
    """What is asked may be there, and is not answered."""


def explained(view: View) -> View:
    """A view that says in a page what is not there, or not answered."""

    async def answer(request: Any, datasette: Any) -> Any:
        try:
            return await view(request, datasette)
        except QueryError as error:
            heading = {"heading": "Not answered"} if isinstance(error, Refused) else {}
            context = {"message": error.what, **heading}
            return await page(datasette, request, "missing.html", context, 400 if heading else 404)

    return answer


def number(text: str, least: int) -> int:
    """A number of a URL; what is none, or too small, is `least`."""
    return max(int(text), least) if text.isascii() and text.isdecimal() and len(text) < 10 else least
