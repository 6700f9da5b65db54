"""Convention `described`: the rule system of section 3.2 from words to triplets.

In: `Doc`s. Out: triplets with their reasons, in the form that the other conventions give.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from builder.core.records import Element, ReadWord, Reasons, Span, Token, Triplet, polarity_of
from builder.engine.constituents import Constituent, Phrase, Term
from builder.engine.described.mentions import (
    ATTRIBUTE,
    CONJUNCTION,
    PATH,
    Mention,
    MentionLexicons,
    choose_steps,
    detect_aspects,
    detect_opinions,
)
from builder.engine.described.pairs import (
    PathPair,
    add_attributes,
    add_conjuncts,
    classify,
    find_marks,
    find_negators,
    pair_by_shortest_path,
)
from builder.engine.matching import Refusal
from builder.engine.pairing import Tree
from builder.engine.reading import Doc
from builder.engine.symbols import ASPECT, OPINION
from builder.engine.units import lower_case
from builder.engine.weighing import Read, make_element, weigh
from builder.language.lexicon.resources import AspectEntry, Lexicon, OpinionEntry
from builder.language.lexicon.rules import Rule


@dataclass(frozen=True, slots=True)
class _Reading:
    """A document with what the lexicons find in it. `text` is in lower case."""

    text: str
    tokens: Tree
    opinions: Sequence[Mention]
    aspects: Sequence[Mention]

    @property
    def opinion_tokens(self) -> frozenset[int]:
        """The tokens of all opinions."""
        return frozenset(token for mention in self.opinions for token in range(mention.first, mention.last + 1))

    @property
    def aspect_of(self) -> dict[int, Mention]:
        """Token -> the aspect that it belongs to."""
        return {token: mention for mention in self.aspects for token in range(mention.first, mention.last + 1)}


class DescribedEngine:
    """Section 3.2 step by step; all state is the compiled lexicons and rules."""

    def __init__(self, lexicon: Lexicon, rules: Sequence[Rule]) -> None:
        self._steps = choose_steps(rules)
        self._lexicon = lexicon
        self._lexicons = MentionLexicons.of(lexicon, self._steps["described-aspects"])

    def extract(self, doc: Doc) -> tuple[Triplet, ...]:
        """The triplets of a review in text order of their opinions, each once."""
        reading = self._read(doc)
        out: dict[object, Triplet] = {}
        for pair in self._pair(doc, reading):
            triplet = self._make_triplet(doc, reading, pair)
            out.setdefault(triplet.key, triplet)
        return tuple(sorted(out.values(), key=lambda triplet: triplet.opinion.end))

    def votes(self, doc: Doc) -> Iterator[tuple[str | None, dict[str, int]]]:
        """For each opinion the rule that decides, and the place of its aspect: there is one rule that pairs."""
        reading = self._read(doc)
        paired = {pair.opinion.node: pair for pair in self._find_closest(doc, reading)}
        for opinion in reading.opinions:
            pair = paired.get(opinion.node)
            yield (PATH, {PATH: pair.aspect.start}) if pair else (None, {})

    def find_refusals(self, doc: Doc) -> list[Refusal]:
        """None: section 3.2 takes every opinion word of the lexicon for one."""
        return []

    def excepts(self, triplet: Triplet) -> bool:
        """No: section 3.2 knows no exceptions."""
        return False

    def weigh(self, doc: Doc, proposed: Sequence[Triplet]) -> list[Triplet | None]:
        """What models propose for a document, with the polarity that section 3.2.4 gives it."""
        if not proposed:
            return []
        reading = self._read(doc)
        opinions, values = [], {}
        for mention in reading.opinions:
            negators = find_negators(reading.text, reading.tokens, mention, self._lexicon)
            spans = _find_spans(reading.tokens, negators)
            opinions.append((_make_phrase(mention, spans), *_make_opinion(doc.text, mention, spans)))
            values[mention.start, mention.end] = classify(mention, negators)

        def value(phrase: Phrase, term: Term, aspect: str) -> tuple[float, Reasons]:
            return values[phrase.core]

        items = sorted([*(item for item, *_ in opinions), *map(_make_term, reading.aspects)])
        read = Read(opinions, frozenset(), items)
        return [weigh(doc.text, read, triplet, value) for triplet in proposed]

    def _read(self, doc: Doc) -> _Reading:
        """Sections 3.2.1 and 3.2.2."""
        text = lower_case(doc.text)
        tokens = Tree(doc.tokens)
        opinions = detect_opinions(text, tokens, self._lexicons)
        return _Reading(text, tokens, opinions, detect_aspects(text, tokens, self._lexicons, opinions))

    def _find_closest(self, doc: Doc, reading: _Reading) -> list[PathPair]:
        sentence_of, at = [], 0
        for token in doc.tokens:
            while at + 1 < len(doc.clauses) and doc.clauses[at + 1].start <= token.start:
                at += 1
            sentence_of.append(doc.clauses[at].sentence if doc.clauses else 0)
        return pair_by_shortest_path(reading.tokens, sentence_of, reading.opinions, reading.aspects)

    def _pair(self, doc: Doc, reading: _Reading) -> list[PathPair]:
        """Section 3.2.3: the set P, expanded."""
        pairs = self._find_closest(doc, reading)
        words = reading.tokens, reading.text, reading.aspect_of, reading.opinion_tokens
        if CONJUNCTION in self._steps:
            pairs = add_conjuncts(pairs, *words)
        return [add_attributes(pair, *words) for pair in pairs] if ATTRIBUTE in self._steps else pairs

    def _make_triplet(self, doc: Doc, reading: _Reading, pair: PathPair) -> Triplet:
        tokens = reading.tokens
        negators = find_negators(reading.text, tokens, pair.opinion, self._lexicon)
        valence, reasons = classify(pair.opinion, negators)
        spans = _find_spans(tokens, negators)
        opinion, opinion_full = _make_opinion(doc.text, pair.opinion, spans)
        aspect, owner = self._make_aspect(doc, tokens, pair)
        first = CONJUNCTION if pair.conjunct_of else PATH
        return Triplet(
            aspect=aspect,
            aspect_full=aspect,
            opinion=opinion,
            opinion_full=opinion_full,
            polarity=polarity_of(valence),
            valence=round(valence, 2),
            owner=owner,
            rules=(first, ATTRIBUTE) if pair.attributes else (first,),
            reasons=replace(
                reasons,
                aspect=_read_aspect(pair.aspect),
                negators=tuple([doc.text[start:end] for start, end in spans]),
                pairing=pair.detail,
                attributes=tuple([attribute.word for attribute in pair.attributes]),
                path=pair.path or None,
            ),
        )

    def _make_aspect(self, doc: Doc, tokens: Tree, pair: PathPair) -> tuple[Element, Element | None]:
        """The aspect with its attributes, and its owner: the first part of one of two parts (肉 of 肉的份量)."""
        parts = sorted([pair.aspect, *pair.attributes])
        marks = find_marks(tokens, pair)
        spans = [(part.start, part.end) for part in parts]
        spans = sorted(dict.fromkeys([*spans, *((tokens[mark].start, tokens[mark].end) for mark in marks)]))
        aspect = make_element(doc.text, spans)
        owned = len(parts) == 2 and len(aspect.spans) == 1
        return aspect, make_element(doc.text, spans[:1]) if owned else None


def _read_aspect(aspect: Mention) -> ReadWord:
    """An aspect as its lexicon has it, if one does."""
    entry = aspect.entry
    listed = (entry.cls, entry.where) if isinstance(entry, AspectEntry) else (None,)
    return ReadWord(aspect.word, *listed)


def _find_spans(tokens: Sequence[Token], negators: Sequence[tuple[int, str]]) -> list[Span]:
    return [(tokens[number].start, tokens[number].end) for number, _ in negators]


def _make_opinion(text: str, opinion: Mention, negators: Sequence[Span]) -> tuple[Element, Element]:
    """The opinion with its negators (不會鹹 of 不會太鹹), and all from the first of these to its end."""
    core = opinion.start, opinion.end
    start = min([opinion.start, *(first for first, _ in negators)])
    return make_element(text, (*negators, core)), make_element(text, ((start, opinion.end),))


def _make_phrase(opinion: Mention, negators: Sequence[Span]) -> Constituent:
    assert isinstance(opinion.entry, OpinionEntry)
    core = opinion.start, opinion.end
    start = min([opinion.start, *(first for first, _ in negators)])
    phrase = Phrase(core, opinion.entry, tuple(negators), ("not",) * len(negators), ())
    return Constituent(start, opinion.end, OPINION, opinion.word, opinion.last, phrase)


def _make_term(aspect: Mention) -> Constituent:
    cls = aspect.entry.cls if isinstance(aspect.entry, AspectEntry) else ""
    return Constituent(aspect.start, aspect.end, ASPECT, aspect.word, aspect.last, None, Term(cls))
