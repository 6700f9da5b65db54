"""The paper's pairs of aspect and opinion in the dependency tree, and their polarity (Lu et al. 2024, 3.2.3, 3.2.4).

Pairing and expansion (section 3.2.3). In: the sets O and A with the tree they stand in. Out: `PathPair`s, the set P of
the paper, each with what led to it.

Polarity (section 3.2.4). In: an opinion with the tokens around it. Out: its negators, and its valence with the reasons.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from operator import attrgetter

from builder.core.records import Reasons
from builder.engine.described.mentions import DescribedWords, Mention
from builder.engine.pairing import Tree, dependency_path
from builder.engine.polarity import read_opinion
from builder.language.lexicon.resources import Lexicon, OpinionEntry

# ---- Pairs in the dependency tree

_NOUN_TAGS = ("NOUN", "PROPN")
"""Parts of speech of a conjunct and of an attribute."""
_CONJUNCTION = "conj"
_MODIFYING = ("amod", "nmod")
"""Arcs of a noun that modifies another: amod of the paper, nmod in UD v1."""
_ASSOCIATIVE, _MARKS = ("assmod", "nmod:assmod", "det"), ("assm", "case:dec")
"""Arcs of a noun before 的, and of the 的 below it: those of the paper, and of UD v1."""
_Closest = dict[int, tuple[int, list[Mention]]]
"""Token -> how many arcs below it the closest aspects of a sentence are, and these, in text order."""


@dataclass(frozen=True, slots=True)
class PathPair:
    """An aspect with its attributes and an opinion; `path` are the arcs between them.

    `detail` says why they are paired. `conjunct_of`: the aspect over whose `conj` arc this one came in.
    """

    aspect: Mention
    opinion: Mention
    path: tuple[str, ...]
    detail: str
    conjunct_of: Mention | None = None
    attributes: tuple[Mention, ...] = ()


def pair_by_shortest_path(words: DescribedWords, sentence_of: Sequence[int]) -> list[PathPair]:
    """Shortest path (section 3.2.3): each opinion with the aspect of its sentence that is closest in the tree.

    Of two that are as close in the tree, the one fewer characters away counts, then the first. An opinion in a tree
    without any aspect has none.
    """
    tokens, trees = words.tokens, _number_trees(words.tokens)
    closest = _find_closest_below(words, sentence_of)
    counts = Counter((sentence_of[aspect.node], trees[aspect.node]) for aspect in words.aspects)
    out = []
    for opinion in words.opinions:
        sentence = sentence_of[opinion.node]
        count = counts[sentence, trees[opinion.node]]
        if not count:
            continue
        aspect = _find_closest(tokens, opinion, closest[sentence])
        path = tuple(dependency_path(tokens, aspect.node, opinion.node) or ())
        noun = "arc" if len(path) == 1 else "arcs"
        detail = f"{len(path)} {noun}, the shortest path of {count} in the sentence"
        out.append(PathPair(aspect, opinion, path, detail))
    return out


def _number_trees(tokens: Tree) -> list[int]:
    """For each token the number of its tree, which is that of the first token that belongs to it."""
    trees = [-1] * len(tokens)
    for token in range(len(tokens)):
        way, node = list[int](), token
        while node >= 0 and trees[node] < 0:
            trees[node] = token
            way.append(node)
            node = tokens[node].head
        for passed in way if node >= 0 else ():
            trees[passed] = trees[node]
    return trees


def _find_closest_below(words: DescribedWords, sentence_of: Sequence[int]) -> dict[int, _Closest]:
    """For each sentence, and each token above its aspects: how many arcs down the closest of them are, and those, in
    text order.
    """
    out: dict[int, _Closest] = {}
    for aspect in words.aspects:
        closest = out.setdefault(sentence_of[aspect.node], {})
        node, arcs = aspect.node, 0
        while node >= 0:
            fewest, known = closest.setdefault(node, (arcs, []))
            if arcs > fewest:
                break  # further up the known ones are closer, too
            if arcs < fewest:
                closest[node] = arcs, [aspect]
            else:
                known.append(aspect)
            node, arcs = words.tokens[node].head, arcs + 1
    return out


def _find_closest(tokens: Tree, opinion: Mention, closest: _Closest) -> Mention:
    """The aspect with the shortest path to an opinion of its tree, looked for from the opinion upwards."""
    best: list[Mention] = []
    node, arcs, fewest = opinion.node, 0, len(tokens)
    while node >= 0 and arcs <= fewest:
        below, aspects = closest.get(node, (len(tokens), []))
        if arcs + below <= fewest and aspects:
            at = bisect_left(aspects, opinion.start, key=attrgetter("start"))
            nearest = aspects[max(0, at - 1) : at + 1]
            best = [*best, *nearest] if arcs + below == fewest else nearest
            fewest = arcs + below
        node, arcs = tokens[node].head, arcs + 1
    return min(best, key=lambda own: (max(opinion.start - own.end, own.start - opinion.end), own.start))


def add_conjuncts(pairs: Sequence[PathPair], words: DescribedWords) -> list[PathPair]:
    """Conjunction detection (section 3.2.3): what a `conj` arc joins to an aspect shares its opinion.

    Pairs that come in are looked at in their turn, so that the third of three aspects is reached from the second.
    """
    out = list(pairs)
    known = {(pair.aspect.node, pair.opinion.node) for pair in pairs}
    for pair in out:  # grows while it runs
        for token, relation in _find_nouns(words, pair.aspect):
            conjunct = words.name_token(token)
            if relation != _CONJUNCTION or (conjunct.node, pair.opinion.node) in known:
                continue
            known.add((conjunct.node, pair.opinion.node))
            path = tuple(dependency_path(words.tokens, conjunct.node, pair.opinion.node) or ())
            detail = f"{conjunct.word} {relation} {pair.aspect.word}"
            out.append(PathPair(conjunct, pair.opinion, path, detail, conjunct_of=pair.aspect))
    return out


def add_attributes(pair: PathPair, words: DescribedWords) -> PathPair:
    """Attribute detection (section 3.2.3): `assmod` and nominal `amod` neighbours join the aspect (肉的份量)."""
    tokens, attributes = words.tokens, []
    for token, relation in _find_nouns(words, pair.aspect):
        below = pair.aspect.first <= tokens[token].head <= pair.aspect.last
        dependent = token if below else pair.aspect.node
        associative = relation in _ASSOCIATIVE and _find_mark(tokens, dependent) is not None
        if associative or relation in _MODIFYING:
            attributes.append(words.name_token(token))
    return replace(pair, attributes=tuple(attributes)) if attributes else pair


def find_marks(tokens: Tree, pair: PathPair) -> list[int]:
    """The 的 below the parts of an aspect that stands between two of them (肉 的 份量)."""
    parts = (pair.aspect, *pair.attributes)
    marks = [mark for part in parts if (mark := _find_mark(tokens, part.node)) is not None]
    last = max(part.start for part in parts)
    return [mark for mark in marks if tokens[mark].start < last]


def find_neighbours(tokens: Tree, mention: Mention) -> Iterator[tuple[int, str]]:
    """The tokens next to a mention in the tree, in text order, each with the relation of the arc between."""
    inside = range(mention.first, mention.last + 1)
    head = tokens[mention.node].head
    neighbours = {head, *(child for token in inside for child in tokens.children[token])}
    for number in sorted(neighbours.difference(inside, (-1,))):
        yield number, tokens[mention.node if number == head else number].rel


def _find_nouns(words: DescribedWords, aspect: Mention) -> Iterator[tuple[int, str]]:
    """The neighbours of an aspect that are nouns and no opinions."""
    for token, relation in find_neighbours(words.tokens, aspect):
        if token not in words.opinion_at and words.tokens[token].pos in _NOUN_TAGS:
            yield token, relation


def _find_mark(tokens: Tree, dependent: int) -> int | None:
    """The 的 of a dependent, if it has one."""
    return next((i for i in tokens.children[dependent] if i > dependent and tokens[i].rel in _MARKS), None)


# ---- Polarity of a pair

MIDDLE = 5.0
LOWEST = 1.0


def find_negators(words: DescribedWords, opinion: Mention, lexicon: Lexicon) -> list[tuple[int, str]]:
    """The tokens in a negation relationship with an opinion (section 3.2.4), each with its relation.

    That is a `neg` arc, or any arc to a negator of the lexicon before the opinion: parsers take 不會 for a modal.
    """
    text, tokens = words.text, words.tokens
    return [
        (number, relation)
        for number, relation in find_neighbours(tokens, opinion)
        if number < opinion.first
        and (
            (relation == "neg" and tokens[number].head != -1)
            or lexicon.negators.get(text[tokens[number].start : tokens[number].end]) == "not"
        )
    ]


def classify(opinion: Mention, negators: Sequence[tuple[int, str]]) -> tuple[float, Reasons]:
    """The valence of an opinion and its reasons (section 3.2.4): that of its category, mirrored at 5 if negated.

    Above 5 is positive, below negative, 5 neutral; what is neutral stays so.
    """
    entry = opinion.entry
    assert isinstance(entry, OpinionEntry)
    word = read_opinion(entry)
    if not negators:
        return entry.valence, Reasons(word)
    arcs = ", ".join(relation for _, relation in negators)
    return max(LOWEST, 2 * MIDDLE - entry.valence), Reasons(word, (("negation", f"reversed: {arcs}"),))
