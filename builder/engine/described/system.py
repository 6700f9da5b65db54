"""Convention `described`: the rule system of section 3.2 from words to triplets.

In: `Doc`s. Out: triplets with their reasons, in the form that the other conventions give.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from builder.core.records import Element, ReadWord, Reasons, Triplet, polarity_of
from builder.engine.constituents import Constituent, Phrase, Term
from builder.engine.described.mentions import (
    ATTRIBUTE,
    CONJUNCTION,
    PATH,
    DescribedWords,
    Mention,
    MentionLexicons,
    choose_steps,
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
from builder.engine.weighing import Read, make_core, make_element, weigh
from builder.language.lexicon.resources import AspectEntry, Lexicon, OpinionEntry
from builder.language.lexicon.rules import Rule


class DescribedEngine:
    """Section 3.2 step by step; all state is the compiled lexicons and rules."""

    def __init__(self, lexicon: Lexicon, rules: Sequence[Rule]) -> None:
        self._steps = choose_steps(rules)
        self._lexicon = lexicon
        self._lexicons = MentionLexicons(lexicon, self._steps["described-aspects"])

    def extract(self, doc: Doc) -> tuple[Triplet, ...]:
        """The triplets of a review in text order of their opinions, each once."""
        words = self._read(doc)
        out: dict[object, Triplet] = {}
        for pair in self._pair(doc, words):
            triplet = self._make_triplet(doc, words, pair)
            out.setdefault(triplet.key, triplet)
        return tuple(sorted(out.values(), key=lambda triplet: triplet.opinion.end))

    def votes(self, doc: Doc) -> Iterator[tuple[str | None, dict[str, int]]]:
        """For each opinion the rule that decides, and the place of its aspect: there is one rule that pairs."""
        words = self._read(doc)
        paired = {pair.opinion.node: pair for pair in pair_by_shortest_path(words, _number_sentences(doc))}
        for opinion in words.opinions:
            pair = paired.get(opinion.node)
            yield (PATH, {PATH: pair.aspect.start}) if pair else (None, {})

    def find_refusals(self, doc: Doc) -> list[Refusal]:
        """None: section 3.2 takes every opinion word of the lexicon for one."""
        return []

    def excepts(self, triplet: Triplet) -> bool:
        """No: section 3.2 knows no exceptions."""
        return False

    def value(self, triplet: Triplet) -> Triplet:
        """The triplet: no model proposes any beside this convention."""
        return triplet

    def weigh(self, doc: Doc, proposed: Sequence[Triplet]) -> list[Triplet | None]:
        """What models propose for a document, with the polarity that section 3.2.4 gives it."""
        if not proposed:
            return []
        words = self._read(doc)
        opinions, values = [], {}
        for mention in words.opinions:
            item, reasons = self._judge(words, mention)
            opinions.append((item, *_make_opinion(doc.text, item)))
            values[item.own_phrase.core] = reasons

        def value(phrase: Phrase, term: Term, aspect: str) -> tuple[float, Reasons]:
            return values[phrase.core]

        items = sorted([*(item for item, *_ in opinions), *map(_make_term, words.aspects)])
        read = Read(opinions, frozenset(), items)
        return [weigh(doc.text, read, triplet, value) for triplet in proposed]

    def _read(self, doc: Doc) -> DescribedWords:
        """Sections 3.2.1 and 3.2.2."""
        return self._lexicons.read(lower_case(doc.text), Tree(doc.tokens))

    def _pair(self, doc: Doc, words: DescribedWords) -> list[PathPair]:
        """Section 3.2.3: the set P, expanded."""
        pairs = pair_by_shortest_path(words, _number_sentences(doc))
        if CONJUNCTION in self._steps:
            pairs = add_conjuncts(pairs, words)
        return [add_attributes(pair, words) for pair in pairs] if ATTRIBUTE in self._steps else pairs

    def _judge(self, words: DescribedWords, opinion: Mention) -> tuple[Constituent, tuple[float, Reasons]]:
        """Section 3.2.4: an opinion with its negators, and its valence with the reasons."""
        assert isinstance(opinion.entry, OpinionEntry)
        negators = find_negators(words, opinion, self._lexicon)
        spans = tuple([(words.tokens[number].start, words.tokens[number].end) for number, _ in negators])
        phrase = Phrase((opinion.start, opinion.end), opinion.entry, spans, ("not",) * len(spans), ())
        start = min([opinion.start, *(first for first, _ in spans)])
        item = Constituent(start, opinion.end, OPINION, opinion.word, opinion.last, phrase)
        return item, classify(opinion, negators)

    def _make_triplet(self, doc: Doc, words: DescribedWords, pair: PathPair) -> Triplet:
        item, (valence, reasons) = self._judge(words, pair.opinion)
        opinion, opinion_full = _make_opinion(doc.text, item)
        aspect, owner = _make_aspect(doc.text, words.tokens, pair)
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
                negators=tuple([doc.text[start:end] for start, end in item.own_phrase.negators]),
                pairing=pair.detail,
                attributes=tuple([attribute.word for attribute in pair.attributes]),
                path=pair.path or None,
            ),
        )


def _number_sentences(doc: Doc) -> list[int]:
    """For each token the number of its sentence."""
    sentence_of, at = [], 0
    for token in doc.tokens:
        while at + 1 < len(doc.clauses) and doc.clauses[at + 1].start <= token.start:
            at += 1
        sentence_of.append(doc.clauses[at].sentence if doc.clauses else 0)
    return sentence_of


def _make_aspect(text: str, tokens: Tree, pair: PathPair) -> tuple[Element, Element | None]:
    """The aspect with its attributes, and its owner: the first part of one of two parts (肉 of 肉的份量)."""
    parts = sorted([pair.aspect, *pair.attributes])
    spans = [(part.start, part.end) for part in parts]
    marks = [(tokens[mark].start, tokens[mark].end) for mark in find_marks(tokens, pair)]
    aspect = make_element(text, sorted({*spans, *marks}))
    owned = len(parts) == 2 and len(aspect.spans) == 1
    return aspect, make_element(text, spans[:1]) if owned else None


def _read_aspect(aspect: Mention) -> ReadWord:
    """An aspect as its lexicon has it, if one does."""
    entry = aspect.entry
    listed = (entry.cls, entry.where) if isinstance(entry, AspectEntry) else (None,)
    return ReadWord(aspect.word, *listed)


def _make_opinion(text: str, item: Constituent) -> tuple[Element, Element]:
    """The opinion with its negators (不會鹹 of 不會太鹹), and all from the first of these to its end."""
    return make_core(text, item.own_phrase), make_element(text, ((item.start, item.end),))


def _make_term(aspect: Mention) -> Constituent:
    cls = aspect.entry.cls if isinstance(aspect.entry, AspectEntry) else ""
    return Constituent(aspect.start, aspect.end, ASPECT, aspect.word, aspect.last, None, Term(cls))
