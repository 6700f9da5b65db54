"""UD v2 trees written in the labels of GSD v1, so that film subtitles and learners' essays can teach the parser too.

In: v2 sentences and, as the model, v1 sentences. Out: trees with v1 tags, relations and, where the two differ in
shape, v1 arcs. GSD is encyclopaedic: 很 modifies an adjective 24 times in its 98,000 words and 92 times in the 17,000
of HK and CFL; reviews are full of it. Adverbs and function words get the tag and relation that GSD gives them most
often (也 is mark, 不 is neg there), the rest follows the tables. Sentences whose clauses are joined by parataxis, which
GSD does not have, are taken clause by clause.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Mapping, Sequence

from builder.language.nlp.conllu import TAGS_V1, TreebankSentence
from builder.language.nlp.variants import clauses

_ASPECT = frozenset("了著過")
_CLOSED = frozenset(("ADP", "ADV", "AUX", "CONJ", "DET", "PART", "PRON"))
_RELATIONS = {
    "obj": "dobj",
    "obj:periph": "dobj",
    "obl": "nmod",
    "obl:agent": "nmod",
    "obl:patient": "nmod",
    "obl:tmod": "nmod:tmod",
    "compound": "nmod",
    "flat": "nmod",
    "clf": "nmod",
    "nsubj:pass": "nsubjpass",
    "nsubj:outer": "nsubj",
    "aux:pass": "auxpass",
    "case:loc": "acl",
    "mark:rel": "acl:relcl",
    "mark:adv": "mark",
    "compound:vv": "mark",
    "compound:dir": "mark",
    "compound:vo": "dobj",
    "compound:ext": "mark",
    "discourse:sp": "discourse",
    "advmod:df": "advmod",
    "advcl": "acl",
    "reparandum": "dep",
    "parataxis": "dep",
}


def v1_like(sentences: Sequence[TreebankSentence], model: Sequence[TreebankSentence]) -> list[TreebankSentence]:
    """The sentences, or their clauses, with the labels of `model`; every relation of the result occurs in it."""
    tags = _habits(model, lambda s, i: s.tags[i] if s.tags[i] in _CLOSED else "", 0.8)
    relations = _habits(model, lambda s, i: s.rels[i] if s.rels[i] in ("advmod", "mark", "neg") else "", 0.5)
    known = {rel for sentence in model for rel in sentence.rels}
    out = []
    for sentence in sentences:
        relabelled = _attach(_retagged(sentence, tags), relations, known)
        out += clauses(relabelled, 2) if "parataxis" in sentence.rels else [relabelled]
    return out


def _habits(
    model: Sequence[TreebankSentence], label: Callable[[TreebankSentence, int], str], share: float
) -> dict[str, str]:
    """Words seen five times or more, and the label that at least `share` of their occurrences have."""
    seen: defaultdict[str, Counter[str]] = defaultdict(Counter)
    for sentence in model:
        for i, word in enumerate(sentence.words):
            seen[word][label(sentence, i)] += 1
    common = {word: (counts.most_common(1)[0], counts.total()) for word, counts in seen.items()}
    return {word: best for word, ((best, n), total) in common.items() if best and total >= 5 and n >= share * total}


def _retagged(sentence: TreebankSentence, tags: Mapping[str, str]) -> TreebankSentence:
    out = []
    for word, tag in zip(sentence.words, sentence.tags, strict=True):
        if tag == "AUX" and word in _ASPECT:
            tag = "PART"
        elif tag == "AUX" and word in ("是", "為"):
            tag = "VERB"
        tag = TAGS_V1.get(tag, tag)
        out.append(tags.get(word, tag) if tag in _CLOSED else tag)
    return TreebankSentence(sentence.words, tuple(out), sentence.heads, sentence.rels)


def _attach(sentence: TreebankSentence, relations: Mapping[str, str], known: set[str]) -> TreebankSentence:
    """Arcs and relations of v1: a classifier heads its number, a coordinator hangs on the first conjunct."""
    heads, rels = list(sentence.heads), list(sentence.rels)
    for i, rel in enumerate(sentence.rels):
        head = sentence.heads[i]
        if rel == "clf" and sentence.rels[head] in ("nummod", "det"):
            heads[i], heads[head] = sentence.heads[head], i
        elif rel == "cc" and sentence.rels[head] == "conj":
            heads[i] = sentence.heads[head]
    for i, (word, tag, rel) in enumerate(zip(sentence.words, sentence.tags, sentence.rels, strict=True)):
        rels[i] = _relation(word, tag, rel, relations)
        if rels[i] not in known:
            rels[i] = "dep"
    return TreebankSentence(sentence.words, sentence.tags, tuple(heads), tuple(rels))


def _relation(word: str, tag: str, rel: str, relations: Mapping[str, str]) -> str:
    if tag == "ADV" and rel in ("advmod", "mark", "cc"):
        return relations.get(word, "advmod")
    if rel == "aux" and word in _ASPECT:
        return "case:aspect"
    if rel == "case" and word in ("的", "之"):
        return "case:dec"
    return _RELATIONS.get(rel, rel)
