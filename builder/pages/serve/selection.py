"""What a visitor selects, as the address of a page says it: the search, the filters, the kinds of triplets, the script.

In: the parameters of a request. Out: `Selection`, and links that keep it. Pure.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any
from urllib.parse import urlencode

from builder.core.errors import QueryError
from builder.reviews.repair import fold
from builder.store import search
from builder.store.browse import ALL, GOLD, LEFT_OUT, MODELS, RELEASED, RULES, Script
from builder.store.listing import REVIEW_FILTERS, TRIPLET_FILTERS, WORD_FILTERS, Filters

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
class Toggle:
    """A kind of triplets that may be shown: whether it is, and the `show` that turns it round."""

    name: str
    about: str
    on: bool
    show: str
    bit: int


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
        """For the store; QueryError where the search has too many words."""
        words = search.words_of(self.query)
        if len(words) > MOST_WORDS:
            raise QueryError(f"a search takes up to {MOST_WORDS} words; {len(words)} were given")
        match = search.match(words) if any(map(fold, words)) else ""
        values = {name: fold(value) if name in WORD_FILTERS else value for name, value in self.values}
        return Filters(kinds=self.kinds, match=match, **values)

    @property
    def words(self) -> list[str]:
        """The words of the search, folded."""
        return [fold(word) for word in search.words_of(self.query)]

    def toggles(self) -> list[Toggle]:
        """The kinds that there are to show."""
        made = []
        for name, (bit, about) in KINDS.items():
            if bit & self.there:
                on = name in self.shown
                turned = [kind for kind in KINDS if (kind in self.shown) != (kind == name)]
                made.append(Toggle(name, about, on, ",".join(turned), bit))
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
