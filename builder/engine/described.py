"""Convention `described`: the rule system of section 3.2 of Lu et al. (2024), step by step.

In: `Doc`s. Out: triplets with their reasons, in the form that the other conventions give. Words of the two lexicons are
the sets O and A of the paper (3.2.1, 3.2.2), the dependency tree pairs them and expands the pairs (3.2.3), and negators
in the tree turn their polarity (3.2.4). The `last` token of a constituent is the one that stands for it in the tree.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Container, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from operator import attrgetter
from typing import NamedTuple

from builder.core.errors import ResourceError
from builder.core.records import Element, Reasons, Token, Triplet, polarity_of
from builder.engine.constituents import Aspects, Constituent, Doc, Phrase, Term, Units
from builder.engine.matching import Refusal
from builder.engine.pairing import dependency_path, measure_gap
from builder.engine.params import in_force, read_params
from builder.engine.symbols import ASPECT, NOUN, OPINION, OTHER, SYMBOL_OF_TAG
from builder.engine.units import MAX_WORD, cut_into_fewest, lower_case
from builder.engine.weighing import CONTEXT_ONLY, Read, make_core, make_element, read_aspect, read_opinion, weigh
from builder.language.lexicon.resources import AspectEntry, Lexicon
from builder.language.lexicon.rules import Rule

# ---- The steps as rules

KIND = "described"
PATH, CONJUNCTION, ATTRIBUTE = "described-path", "described-conjunction", "described-attribute"
"""Rules that make triplets, by name. The last two may be switched off."""
_NEEDED = ("described-opinions", "described-aspects", PATH, "described-polarity")


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


# ---- Words of the lexicons (sections 3.2.1, 3.2.2)

_FUNCTION_TAGS = frozenset(
    ["ADV", "AUX", "PART", "ADP", "CONJ", "CCONJ", "SCONJ", "PRON", "DET", "INTJ", "PUNCT", "SPACE"]
)
"""Parts of speech that are no opinions, whatever the word is (特別 before 好吃)."""
_SHORTEST = 2
"""Characters of a part of a name at least."""


class DescribedWords:
    """The words of a text in lower case with their tree, and what the lexicons find among them, in text order."""

    def __init__(self, text: str, tokens: Sequence[Token], opinions: Units = (), aspects: Units = ()) -> None:
        self.text, self.tokens, self.opinions, self.aspects = text, tokens, opinions, aspects
        self._starts = [token.start for token in tokens]
        self.children: list[list[int]] = [[] for _ in tokens]
        """For each token those that depend on it, in text order."""
        for number, token in enumerate(tokens):
            if token.head >= 0:
                self.children[token.head].append(number)

    def make_item(self, run: range) -> Constituent:
        """The word of some tokens. Its `last` one stands for it in the tree: the last whose head lies outside."""
        start, end = self.tokens[run[0]].start, self.tokens[run[-1]].end
        node = next((token for token in reversed(run[1:]) if self.tokens[token].head not in run), run[0])
        return Constituent(start, end, OTHER, self.text[start:end], node)

    def find_tokens(self, item: Constituent) -> range:
        """The tokens of a word."""
        return range(bisect_left(self._starts, item.start), bisect_left(self._starts, item.end))

    def find_neighbours(self, item: Constituent) -> Iterator[tuple[int, str]]:
        """The tokens next to a word in the tree, in text order, each with the relation of the arc between."""
        inside, head = self.find_tokens(item), self.tokens[item.last].head
        neighbours = {head, *(child for token in inside for child in self.children[token])}
        for number in sorted(neighbours.difference(inside, (-1,))):
            yield number, self.tokens[item.last if number == head else number].rel

    def find_nouns(self, aspect: Constituent) -> Iterator[tuple[int, str, Constituent]]:
        """The neighbours of an aspect that are nouns and no opinions, with their relations and their words."""
        for token, relation in self.find_neighbours(aspect):
            if self._find_among(self.opinions, token) is None and SYMBOL_OF_TAG.get(self.tokens[token].pos) == NOUN:
                own = self._find_among(self.aspects, token)
                yield token, relation, own or self.make_item(range(token, token + 1))

    def find_mark(self, dependent: int) -> Token | None:
        """The 的 of a dependent, if it has one."""
        behind = [self.tokens[i] for i in self.children[dependent] if i > dependent]
        return next((token for token in behind if token.rel in _MARKS), None)

    def _find_among(self, words: Units, token: int) -> Constituent | None:
        """The word that a token belongs to."""
        at = bisect_right(words, self.tokens[token].start, key=attrgetter("start")) - 1
        return words[at] if at >= 0 and self.tokens[token].start < words[at].end else None


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


# ---- Pairs in the dependency tree (section 3.2.3)

_CONJUNCTION = "conj"
_MODIFYING = ("amod", "nmod")
"""Arcs of a noun that modifies another: amod of the paper, nmod in UD v1."""
_ASSOCIATIVE, _MARKS = ("assmod", "nmod:assmod", "det"), ("assm", "case:dec")
"""Arcs of a noun before 的, and of the 的 below it: those of the paper, and of UD v1."""
_NEAREST = 40
"""Aspects on either side of an opinion that are looked at: a sentence that names hundreds costs no more."""


class PathPair(NamedTuple):
    """An aspect with its attributes and an opinion; `path` are the arcs between them.

    `detail` says why they are paired. `conjunct_of`: the aspect over whose `conj` arc this one came in.
    """

    aspect: Constituent
    opinion: Constituent
    path: tuple[str, ...]
    detail: str
    conjunct_of: Constituent | None = None
    attributes: Aspects = ()


def pair_by_shortest_path(words: DescribedWords, sentence_of: Sequence[int]) -> list[PathPair]:
    """Shortest path (section 3.2.3): each opinion with the aspect of its sentence that is closest in the tree.

    At most `_NEAREST` aspects on either side are looked at. Of two that are as close in the tree, the one fewer
    characters away counts, then the first. An opinion in a tree without any aspect has none.
    """
    aspects_of: dict[int, list[Constituent]] = {}
    for aspect in words.aspects:
        aspects_of.setdefault(sentence_of[aspect.last], []).append(aspect)
    out = []
    for opinion in words.opinions:
        aspects = aspects_of.get(sentence_of[opinion.last], [])
        at = bisect_left(aspects, opinion.start, key=attrgetter("start"))
        around = aspects[max(0, at - _NEAREST) : at + _NEAREST]
        ways = [(dependency_path(words.tokens, aspect.last, opinion.last), aspect) for aspect in around]
        paths = [(len(path), measure_gap(opinion, aspect), aspect, path) for path, aspect in ways if path is not None]
        if paths:
            length, _, aspect, path = min(paths)
            noun = "arc" if length == 1 else "arcs"
            detail = f"{length} {noun}, the shortest path of the {len(paths)} nearest in the sentence"
            out.append(PathPair(aspect, opinion, tuple(path), detail))
    return out


def add_conjuncts(pairs: Sequence[PathPair], words: DescribedWords) -> list[PathPair]:
    """Conjunction detection (section 3.2.3): what a `conj` arc joins to an aspect shares its opinion.

    Pairs that come in are looked at in their turn, so that the third of three aspects is reached from the second.
    """
    out = list(pairs)
    known = {(pair.aspect.last, pair.opinion.last) for pair in pairs}
    for pair in out:  # grows while it runs
        for _, relation, conjunct in words.find_nouns(pair.aspect):
            if relation != _CONJUNCTION or (conjunct.last, pair.opinion.last) in known:
                continue
            known.add((conjunct.last, pair.opinion.last))
            path = tuple(dependency_path(words.tokens, conjunct.last, pair.opinion.last) or ())
            detail = f"{conjunct.word} {relation} {pair.aspect.word}"
            out.append(PathPair(conjunct, pair.opinion, path, detail, conjunct_of=pair.aspect))
    return out


def add_attributes(pair: PathPair, words: DescribedWords) -> PathPair:
    """Attribute detection (section 3.2.3): `assmod` and nominal `amod` neighbours join the aspect (肉的份量)."""
    attributes, inside = [], words.find_tokens(pair.aspect)
    for token, relation, attribute in words.find_nouns(pair.aspect):
        dependent = token if words.tokens[token].head in inside else pair.aspect.last
        if relation in _MODIFYING or (relation in _ASSOCIATIVE and words.find_mark(dependent)):
            attributes.append(attribute)
    return pair._replace(attributes=tuple(attributes)) if attributes else pair


# ---- Polarity of a pair (section 3.2.4)

MIDDLE = 5.0
LOWEST = 1.0


def find_negators(words: DescribedWords, opinion: Constituent, lexicon: Lexicon) -> list[tuple[Token, str]]:
    """The tokens in a negation relationship with an opinion, each with its relation.

    That is a `neg` arc, or any arc to a negator of the lexicon before the opinion: parsers take 不會 for a modal.
    """
    before = [(words.tokens[number], relation) for number, relation in words.find_neighbours(opinion)]
    return [
        (token, relation)
        for token, relation in before
        if token.start < opinion.start
        and (
            (relation == "neg" and token.head != -1)
            or lexicon.negators.get(words.text[token.start : token.end]) == "not"
        )
    ]


def classify(phrase: Phrase) -> tuple[float, Reasons]:
    """The valence of an opinion and its reasons: that of its category, mirrored at 5 if arcs negate it.

    Above 5 is positive, below negative, 5 neutral; what is neutral stays so.
    """
    word, value = read_opinion(phrase.entry), phrase.entry.valence
    if not phrase.kinds:
        return value, Reasons(word)
    return max(LOWEST, 2 * MIDDLE - value), Reasons(word, (("negation", f"reversed: {', '.join(phrase.kinds)}"),))


# ---- The system


class DescribedEngine:
    """Section 3.2 step by step; all state is its steps and its two lexicons.

    All words of a semantic category have the valence of the category (section 3.2.1). Words without a valence of their
    own (重, 近) are left out: the section knows no context. The parts of segmented names are aspects too (3.2.2).
    """

    def __init__(self, lexicon: Lexicon, rules: Sequence[Rule]) -> None:
        self._lexicon, self._steps = lexicon, choose_steps(rules)
        step = self._steps["described-aspects"]
        self.opinions = {word: own for word, own in lexicon.opinions.items() if own.category != CONTEXT_ONLY}
        self.aspects = dict(lexicon.aspects)
        for name, entry in lexicon.aspects.items():
            for part in split_name(name, lexicon) if entry.cls.startswith(step.dishes) else ():
                self.aspects.setdefault(part, AspectEntry(part, entry.cls, entry.where))
        self._composed = frozenset(word for word, entry in self.aspects.items() if entry.cls.startswith(step.composed))
        self._longest = min(max(map(len, (*self.opinions, *self.aspects)), default=1), MAX_WORD)

    def read(self, text: str, tokens: Sequence[Token]) -> DescribedWords:
        """The words that match an entry, opinions with their negators. A noun of both lexicons is an aspect."""
        words = DescribedWords(lower_case(text), tokens)
        words.opinions = [
            item._replace(symbol=OPINION, phrase=self._make_phrase(words, item))
            for item in self._match(words, self.opinions)
            if tokens[item.last].pos not in _FUNCTION_TAGS
            and not (item.word in self.aspects and SYMBOL_OF_TAG.get(tokens[item.last].pos) == NOUN)
        ]
        taken = {token for item in words.opinions for token in words.find_tokens(item)}
        words.aspects = [
            item._replace(symbol=ASPECT, term=Term(self.aspects[item.word].cls))
            for item in self._match(words, self.aspects, taken)
        ]
        return words

    def _make_phrase(self, words: DescribedWords, opinion: Constituent) -> Phrase:
        """An opinion with its negators; what `kinds` holds of these is their relation."""
        negators = find_negators(words, opinion, self._lexicon)
        spans = tuple([(token.start, token.end) for token, _ in negators])
        core = opinion.start, opinion.end
        return Phrase(core, self.opinions[opinion.word], spans, tuple([relation for _, relation in negators]))

    def _match(
        self, words: DescribedWords, entries: Mapping[str, object], taken: Container[int] = ()
    ) -> Iterator[Constituent]:
        """The longest entries over the edges of words, from the left: an entry of several words (令人 失望) is one."""
        i, tokens = 0, words.tokens
        while i < len(tokens):
            stop, j = i, i
            while j < len(tokens) and j not in taken and tokens[j].end - tokens[i].start <= self._longest:
                if j > i and tokens[j].start != tokens[j - 1].end:
                    break
                word = words.text[tokens[i].start : tokens[j].end]
                if word in entries and (j == i or word not in self._composed):
                    stop = j + 1
                j += 1
            if stop > i:
                yield words.make_item(range(i, stop))
            i = max(i + 1, stop)

    def extract(self, doc: Doc) -> tuple[Triplet, ...]:
        """The triplets of a review in text order of their opinions, each once."""
        words, out = self.read(doc.text, doc.tokens), dict[object, Triplet]()
        pairs = pair_by_shortest_path(words, _number_sentences(doc))
        pairs = add_conjuncts(pairs, words) if CONJUNCTION in self._steps else pairs
        for pair in pairs:
            triplet = self._make_triplet(doc, words, add_attributes(pair, words) if ATTRIBUTE in self._steps else pair)
            out.setdefault(triplet.key, triplet)
        return tuple(sorted(out.values(), key=lambda triplet: triplet.opinion.end))

    def votes(self, doc: Doc) -> Iterator[tuple[str | None, dict[str, int]]]:
        """For each opinion the rule that decides, and the place of its aspect: there is one rule that pairs."""
        words = self.read(doc.text, doc.tokens)
        paired = {pair.opinion: pair for pair in pair_by_shortest_path(words, _number_sentences(doc))}
        for opinion in words.opinions:
            pair = paired.get(opinion)
            yield (PATH, {PATH: pair.aspect.start}) if pair else (None, {})

    def find_refusals(self, doc: Doc) -> list[Refusal]:
        """None: section 3.2 takes every opinion word of the lexicon for one."""
        return []

    def excepts(self, triplet: Triplet) -> bool:
        """No: section 3.2 knows no exceptions."""
        return False

    def value(self, triplet: Triplet) -> Triplet:
        """The triplet as it is: section 3.2.4 says nothing of an opinion that `weigh` does not read."""
        return triplet

    def weigh(self, doc: Doc, proposed: Sequence[Triplet]) -> list[Triplet | None]:
        """What models propose for a document, with the polarity that section 3.2.4 gives it."""
        if not proposed:
            return []
        words = self.read(doc.text, doc.tokens)
        made = [(item, *_make_opinion(doc.text, item)) for item in words.opinions]
        opinions = [(item._replace(start=full.start), opinion, full) for item, opinion, full in made]
        read = Read(opinions, frozenset(), sorted([*(item for item, *_ in opinions), *words.aspects]))
        return [weigh(doc.text, read, triplet, lambda phrase, *_: classify(phrase)) for triplet in proposed]

    def _make_triplet(self, doc: Doc, words: DescribedWords, pair: PathPair) -> Triplet:
        value, reasons = classify(pair.opinion.own_phrase)
        opinion, opinion_full = _make_opinion(doc.text, pair.opinion)
        aspect, owner = _make_aspect(doc.text, words, pair)
        first = CONJUNCTION if pair.conjunct_of else PATH
        return Triplet(
            aspect=aspect,
            aspect_full=aspect,
            opinion=opinion,
            opinion_full=opinion_full,
            polarity=polarity_of(value),
            valence=round(value, 2),
            owner=owner,
            rules=(first, ATTRIBUTE) if pair.attributes else (first,),
            reasons=replace(
                reasons,
                aspect=read_aspect(pair.aspect, self.aspects),
                negators=tuple([doc.text[start:end] for start, end in pair.opinion.own_phrase.negators]),
                pairing=pair.detail,
                attributes=tuple([attribute.word for attribute in pair.attributes]),
                path=pair.path or None,
            ),
        )


def _number_sentences(doc: Doc) -> list[int]:
    """For each token the number of its sentence."""
    starts = [clause.start for clause in doc.clauses[1:]]
    return [doc.clauses[bisect_right(starts, token.start)].sentence if doc.clauses else 0 for token in doc.tokens]


def _make_aspect(text: str, words: DescribedWords, pair: PathPair) -> tuple[Element, Element | None]:
    """The aspect with its attributes and the 的 between them, and its owner: the first part of two (肉 of 肉的份量)."""
    parts = sorted([pair.aspect, *pair.attributes])
    spans = [(part.start, part.end) for part in parts]
    marks = [mark for part in parts if (mark := words.find_mark(part.last))]
    between = [(mark.start, mark.end) for mark in marks if mark.start < parts[-1].start]
    aspect = make_element(text, sorted({*spans, *between}))
    owned = len(parts) == 2 and len(aspect.spans) == 1
    return aspect, make_element(text, spans[:1]) if owned else None


def _make_opinion(text: str, item: Constituent) -> tuple[Element, Element]:
    """The opinion with its negators (不會鹹 of 不會太鹹), and all from the first of these to its end."""
    opinion = make_core(text, item.own_phrase)
    return opinion, make_element(text, ((min(opinion.start, item.start), item.end),))
