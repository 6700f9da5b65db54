"""The paper's steps as rules, and the words that its lexicons find in a review (Lu et al. 2024, section 3.2).

Mentions (sections 3.2.1, 3.2.2): words that stand in the opinion lexicon or the aspect lexicon. In: tokens of a view,
and the lexicons. Out: `DescribedWords`, the sets O and A of the paper.
"""

from __future__ import annotations

from collections.abc import Container, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from builder.core.errors import ResourceError
from builder.core.records import Token
from builder.engine.pairing import Tree
from builder.engine.params import in_force, read_params
from builder.engine.polarity import CONTEXT_ONLY
from builder.engine.symbols import NOUN, SYMBOL_OF_TAG
from builder.engine.units import MAX_WORD, cut_into_fewest
from builder.language.lexicon.resources import AspectEntry, Lexicon, OpinionEntry
from builder.language.lexicon.rules import Rule

# ---- The steps as rules

KIND = "described"
PATH, CONJUNCTION, ATTRIBUTE = "described-path", "described-conjunction", "described-attribute"
"""Rules that make triplets, by name. The last two may be switched off."""
_NEEDED = ("described-opinions", "described-aspects", PATH, "described-polarity")
_FUNCTION_TAGS = frozenset(
    ["ADV", "AUX", "PART", "ADP", "CONJ", "CCONJ", "SCONJ", "PRON", "DET", "INTJ", "PUNCT", "SPACE"]
)
"""Parts of speech that are no opinions, whatever the word is (特別 before 好吃)."""
_SHORTEST = 2
"""Characters of a part of a name at least."""


@dataclass(frozen=True, slots=True)
class StepRule:
    """Parameters of a rule of kind `described`, a step of section 3.2, which its name tells.

    `dishes`: prefixes of the classes whose names add their parts to the lexicon. `composed`: prefixes of the classes
    whose entries of several words (餐點口感) are left to the attributes of 3.2.3.
    """

    dishes: tuple[str, ...] = ()
    composed: tuple[str, ...] = ()


def choose_steps(rules: Sequence[Rule]) -> dict[str, StepRule]:
    """The steps in force, by name. ResourceError names one that is missing."""
    own = (rule for rule in rules if rule.kind == KIND and in_force(rule, "described"))
    steps = {rule.name: read_params(rule, StepRule) for rule in own}
    for name in _NEEDED:
        if name not in steps:
            message = f"convention described has no rule {name}"
            raise ResourceError(message, where="rules/", fix="keep the steps of section 3.2")
    return steps


# ---- Mentions

Entry = OpinionEntry | AspectEntry


class Mention(NamedTuple):
    """A word of a lexicon in a text: its place, the tokens first to last, and `node`, the token that stands for it.

    `entry` is None for a noun that no lexicon holds.
    """

    start: int
    end: int
    word: str
    first: int
    last: int
    node: int
    entry: Entry | None = None


class DescribedWords:
    """What the lexicons find in a text in lower case, in text order; `opinion_at` and `aspect_at`: token -> mention."""

    def __init__(self, text: str, tokens: Tree, opinions: Sequence[Mention], aspects: Sequence[Mention]) -> None:
        self.text, self.tokens, self.opinions, self.aspects = text, tokens, opinions, aspects
        self.opinion_at, self.aspect_at = _map_tokens(opinions), _map_tokens(aspects)

    def name_token(self, token: int) -> Mention:
        """The aspect that a token belongs to, or the token as one that no lexicon holds."""
        start, end = self.tokens[token].start, self.tokens[token].end
        return self.aspect_at.get(token) or Mention(start, end, self.text[start:end], token, token, token)


def _map_tokens(mentions: Sequence[Mention]) -> dict[int, Mention]:
    return {token: mention for mention in mentions for token in range(mention.first, mention.last + 1)}


class MentionLexicons:
    """The two lexicons of the described system; `step`: that of aspects.

    All words of a semantic category have the valence of the category (section 3.2.1). Words without a valence of their
    own (重, 近) are left out: the section knows no context. The parts of segmented names are aspects too (3.2.2).
    """

    def __init__(self, lexicon: Lexicon, step: StepRule) -> None:
        self.opinions = {word: own for word, own in lexicon.opinions.items() if own.category != CONTEXT_ONLY}
        self.aspects = dict(lexicon.aspects)
        for name, entry in lexicon.aspects.items():
            for part in split_name(name, lexicon) if entry.cls.startswith(step.dishes) else ():
                self.aspects.setdefault(part, AspectEntry(part, entry.cls, entry.where))
        self._composed = frozenset(word for word, entry in self.aspects.items() if entry.cls.startswith(step.composed))
        self._longest = min(max(map(len, (*self.opinions, *self.aspects)), default=1), MAX_WORD)

    def read(self, text: str, tokens: Tree) -> DescribedWords:
        """The segmented words that match an entry. A word of both lexicons is an opinion where it is no noun."""
        opinions = [
            mention
            for mention in self._match(text, tokens, self.opinions)
            if tokens[mention.node].pos not in _FUNCTION_TAGS
            and not (mention.word in self.aspects and SYMBOL_OF_TAG.get(tokens[mention.node].pos) == NOUN)
        ]
        return DescribedWords(
            text, tokens, opinions, list(self._match(text, tokens, self.aspects, _map_tokens(opinions)))
        )

    def _match(
        self, text: str, tokens: Sequence[Token], entries: Mapping[str, Entry], taken: Container[int] = ()
    ) -> Iterator[Mention]:
        """The longest entries over the edges of words, from the left: an entry of several words (令人 失望) is one."""
        i = 0
        while i < len(tokens):
            last, j = i - 1, i
            while j < len(tokens) and j not in taken and tokens[j].end - tokens[i].start <= self._longest:
                if j > i and tokens[j].start != tokens[j - 1].end:
                    break
                word = text[tokens[i].start : tokens[j].end]
                if word in entries and (j == i or word not in self._composed):
                    last = j
                j += 1
            if last >= i:
                start, end = tokens[i].start, tokens[last].end
                word = text[start:end]
                yield Mention(start, end, word, i, last, find_node(tokens, i, last), entries[word])
            i = max(i, last) + 1


def split_name(name: str, lexicon: Lexicon) -> tuple[str, ...]:
    """The parts of a segmented dish name that are names themselves (section 3.2.2): 松阪豬 and 炒飯 of 松阪豬炒飯.

    How it is cooked (紅燒) is no name; words that are opinions or known to name nothing add nothing.
    """
    return tuple(
        part
        for part in cut_into_fewest(name, lambda part: part != name and _is_part(part, lexicon))
        if len(part) >= _SHORTEST
        and (part in lexicon.aspects or lexicon.morphemes.get(part) == "noun")
        and part not in lexicon.opinions
        and part not in lexicon.not_aspects
    )


def _is_part(word: str, lexicon: Lexicon) -> bool:
    """Whether a name may be made of a word."""
    return word in lexicon.aspects or lexicon.morphemes.get(word, "use") != "use" or word in lexicon.opinions


def find_node(tokens: Sequence[Token], first: int, last: int) -> int:
    """The token that stands in the tree for a word of several: the last whose head lies outside."""
    for token in range(last, first, -1):
        if not first <= tokens[token].head <= last:
            return token
    return first
