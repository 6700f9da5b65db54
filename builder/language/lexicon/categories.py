"""Which class of the lexicon an aspect belongs to, and which category an opinion: of words as texts write them, in
either script. Pure.

A word that no entry equals has the class of its longest ending that one does (招牌牛肉麵 is a 牛肉麵): heads come
last. An opinion has the category of the word behind its negator. None: the lexicon does not know it.
"""

from __future__ import annotations

from functools import cache

from builder.language.lexicon.resources import Lexicon
from builder.reviews.text import view

_SHORTEST = 2
"""Characters of an ending: shorter ones are parts of too many words."""


class Categories:
    """Looks words up in a lexicon and remembers what it found."""

    def __init__(self, lexicon: Lexicon) -> None:
        self._lexicon = lexicon
        self.aspect = cache(self._aspect)
        self.opinion = cache(self._opinion)

    def _aspect(self, word: str) -> str | None:
        for form in self._forms(word):
            for start in range(max(1, len(form) - _SHORTEST + 1)):
                if entry := self._lexicon.aspects.get(form[start:]):
                    return entry.cls
        return None

    def _opinion(self, word: str) -> str | None:
        for form in self._forms(word):
            if entry := self._lexicon.opinions.get(form):
                return entry.category
            for negator in sorted(
                (word for word in self._lexicon.negators if form.startswith(word)), key=len, reverse=True
            ):
                if entry := self._lexicon.opinions.get(form[len(negator) :]):
                    return entry.category
        return None

    def _forms(self, word: str) -> tuple[str, ...]:
        """A word as it stands, and as the engine's view would write it."""
        return tuple(dict.fromkeys((word.lower(), view(word, self._lexicon.variants, "simplified").text.lower())))
