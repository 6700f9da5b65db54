"""Training sentences made more like reviews: no final mark, marks missing inside, clauses that stand alone.

In: a sentence and a Random. Out: a sentence with a valid tree. Nothing is invented; only punctuation that nothing
hangs on goes, and only clauses that the tree itself holds together are cut out.
"""

from __future__ import annotations

from collections.abc import Collection
from itertools import pairwise
from random import Random

from builder.language.nlp.conllu import TreebankSentence


def keep(sentence: TreebankSentence, kept: Collection[int]) -> TreebankSentence:
    """The words of `kept` alone. Heads outside become the root; the caller sees to it that there is one."""
    order = sorted(kept)
    place = {old: new for new, old in enumerate(order)}
    heads = tuple(place.get(sentence.heads[i], -1) for i in order)
    rels = tuple(sentence.rels[i] if sentence.heads[i] in place else "root" for i in order)
    return TreebankSentence(
        tuple(sentence.words[i] for i in order), tuple(sentence.tags[i] for i in order), heads, rels
    )


def without_final_mark(sentence: TreebankSentence) -> TreebankSentence:
    """The sentence without the mark that ends it, if there is one and nothing hangs on it."""
    last = len(sentence) - 1
    if last < 1 or sentence.tags[last] != "PUNCT" or last in sentence.heads:
        return sentence
    return keep(sentence, range(last))


def without_marks(sentence: TreebankSentence, random: Random, share: float) -> TreebankSentence:
    """Each mark inside lost with probability `share`."""
    used = set(sentence.heads)
    lost = {i for i, tag in enumerate(sentence.tags) if tag == "PUNCT" and i not in used and random.random() < share}
    return keep(sentence, [i for i in range(len(sentence)) if i not in lost]) if len(lost) < len(sentence) else sentence


def clauses(sentence: TreebankSentence, shortest: int = 4) -> list[TreebankSentence]:
    """The stretches between commas that are trees of their own: one head outside, closed in themselves."""
    cuts = [i for i, word in enumerate(sentence.words) if word in ",，;；" and sentence.tags[i] == "PUNCT"]
    edges = [-1, *cuts, len(sentence)]
    stretches = [range(a + 1, b) for a, b in pairwise(edges) if b - a - 1 >= shortest and b - a - 1 < len(sentence) - 1]
    return [keep(sentence, part) for part in stretches if sum(sentence.heads[i] not in part for i in part) == 1]


def review_like(sentence: TreebankSentence, random: Random) -> TreebankSentence:
    """One draw: half without the final mark, a third without some of the others, a fifth a single clause."""
    if random.random() < 0.2 and (parts := clauses(sentence)):
        return random.choice(parts)
    if random.random() < 0.5:
        sentence = without_final_mark(sentence)
    return without_marks(sentence, random, 0.4) if random.random() < 0.33 else sentence
