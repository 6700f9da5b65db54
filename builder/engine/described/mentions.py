"""The paper's steps as rules, and the words that its lexicons find in a review (Lu et al. 2024, section 3.2).

Mentions (sections 3.2.1, 3.2.2): words that stand in the opinion lexicon or the aspect lexicon. In: tokens of a view,
and the lexicons. Out: `Mention`s in text order, the sets O and A of the paper.
"""

from __future__ import annotations

from collections.abc import Container, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from builder.core.errors import ResourceError
from builder.core.records import Token
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
    entry: OpinionEntry | AspectEntry | None = None


@dataclass(frozen=True, slots=True)
class MentionLexicons:
    """The two lexicons of the described system.

    `composed`: entries that count where they are one word alone. `longest`: characters of the longest entry.
    """

    opinions: Mapping[str, OpinionEntry]
    aspects: Mapping[str, AspectEntry]
    composed: frozenset[str]
    longest: int

    @classmethod
    def of(cls, lexicon: Lexicon, step: StepRule) -> MentionLexicons:
        """Both lexicons as their sections describe them; `step`: that of aspects."""
        opinions, aspects = collect_opinions(lexicon), collect_aspects(lexicon, step)
        composed = frozenset(word for word, entry in aspects.items() if entry.cls.startswith(step.composed))
        longest = max(map(len, (*opinions, *aspects)), default=1)
        return cls(opinions, aspects, composed, min(longest, MAX_WORD))


def collect_opinions(lexicon: Lexicon) -> dict[str, OpinionEntry]:
    """The opinion lexicon (section 3.2.1): all words of a semantic category have the valence of the category.

    Words without a valence of their own (重, 近) are left out: the section knows no context.
    """
    return {word: entry for word, entry in lexicon.opinions.items() if entry.category != CONTEXT_ONLY}


def collect_aspects(lexicon: Lexicon, step: StepRule) -> dict[str, AspectEntry]:
    """The aspect lexicon (section 3.2.2): its words, the names of dishes, and the parts of segmented names."""
    out = dict(lexicon.aspects)
    for name, entry in lexicon.aspects.items():
        if entry.cls.startswith(step.dishes):
            for part in split_name(name, lexicon):
                out.setdefault(part, AspectEntry(part, entry.cls, entry.where))
    return out


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


def detect_opinions(text: str, tokens: Sequence[Token], lexicons: MentionLexicons) -> list[Mention]:
    """Opinion lexicon detection (section 3.2.1): the segmented words that match an entry, with their part of speech.

    A word of both lexicons is an opinion where it is no noun.
    """
    return [
        mention
        for mention in _match_words(text, tokens, lexicons.opinions, lexicons)
        if tokens[mention.node].pos not in _FUNCTION_TAGS
        and not (mention.word in lexicons.aspects and SYMBOL_OF_TAG.get(tokens[mention.node].pos) == NOUN)
    ]


def detect_aspects(
    text: str, tokens: Sequence[Token], lexicons: MentionLexicons, opinions: Sequence[Mention]
) -> list[Mention]:
    """Aspect lexicon detection (section 3.2.2): the segmented words that match an entry and are no opinions here."""
    taken = {token for mention in opinions for token in range(mention.first, mention.last + 1)}
    return list(_match_words(text, tokens, lexicons.aspects, lexicons, taken))


def _match_words(
    text: str,
    tokens: Sequence[Token],
    entries: Mapping[str, OpinionEntry] | Mapping[str, AspectEntry],
    lexicons: MentionLexicons,
    taken: Container[int] = (),
) -> Iterator[Mention]:
    """The longest entries over the edges of words, from the left: an entry of several words (令人 失望) is one."""
    i = 0
    while i < len(tokens):
        j = _find_last(text, tokens, entries, lexicons, taken, i)
        if j < i:
            i += 1
            continue
        start, end = tokens[i].start, tokens[j].end
        yield Mention(start, end, text[start:end], i, j, find_node(tokens, i, j), entries[text[start:end]])
        i = j + 1


def _find_last(
    text: str,
    tokens: Sequence[Token],
    entries: Container[str],
    lexicons: MentionLexicons,
    taken: Container[int],
    i: int,
) -> int:
    """The last token of the longest entry that begins with token i; i - 1 if none does."""
    last, j = i - 1, i
    while j < len(tokens) and j not in taken and tokens[j].end - tokens[i].start <= lexicons.longest:
        if j > i and tokens[j].start != tokens[j - 1].end:
            break
        word = text[tokens[i].start : tokens[j].end]
        if word in entries and (j == i or word not in lexicons.composed):
            last = j
        j += 1
    return last


def find_node(tokens: Sequence[Token], first: int, last: int) -> int:
    """The token that stands in the tree for a word of several: the last whose head lies outside."""
    for token in range(last, first, -1):
        if not first <= tokens[token].head <= last:
            return token
    return first
