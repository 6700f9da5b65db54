"""Scores of a backend against a treebank: `evaluate(backend, conllu)`.

In: a backend and a CoNLL-U file. Out: segmentation F1, tag F1 end to end, and attachment end to end (a dependency
counts if both words and the arc are right), all in percent. With the embedded backend also what it does with gold
words: tag accuracy, UAS and LAS with predicted tags. Every token counts, punctuation too.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from builder.core.records import Span, Token
from builder.language.nlp import Backend
from builder.language.nlp.conllu import TreebankSentence, read, surface
from builder.language.nlp.crf import tag_words
from builder.language.nlp.embedded import Embedded


def evaluate(backend: Backend, conllu: Path) -> dict[str, float]:
    """Scores by name, in percent."""
    gold = read(conllu)
    scores = _end_to_end(gold, backend.annotate([surface(sentence.words)[0] for sentence in gold]))
    if isinstance(backend, Embedded):
        scores |= _gold_words(backend, gold)
    return scores


def _end_to_end(gold: Sequence[TreebankSentence], answers: Sequence[tuple[Token, ...]]) -> dict[str, float]:
    right = dict.fromkeys(("segmentation", "upos", "uas", "las"), 0)
    wanted = given = 0
    for sentence, tokens in zip(gold, answers, strict=True):
        expected, predicted = _arcs_of(sentence), _arcs(tokens)
        wanted += len(expected)
        given += len(predicted)
        for span, (tag, head, rel) in predicted.items():
            if span in expected:
                tag_right, head_right = tag == expected[span][0], head == expected[span][1]
                right["segmentation"] += 1
                right["upos"] += tag_right
                right["uas"] += head_right
                right["las"] += head_right and rel == expected[span][2]
    return {f"{name}_f1": 200 * count / (wanted + given) for name, count in right.items()}


def _arcs_of(sentence: TreebankSentence) -> dict[Span, tuple[str, Span | None, str]]:
    spans = surface(sentence.words)[1]
    heads = [spans[head] if head >= 0 else None for head in sentence.heads]
    return dict(zip(spans, zip(sentence.tags, heads, sentence.rels, strict=True), strict=True))


def _arcs(tokens: Sequence[Token]) -> dict[Span, tuple[str, Span | None, str]]:
    spans = [(token.start, token.end) for token in tokens]
    return {
        span: (token.pos, spans[token.head] if token.head >= 0 else None, token.rel)
        for span, token in zip(spans, tokens, strict=True)
        if token.pos != "SPACE"
    }


def _gold_words(backend: Embedded, gold: Sequence[TreebankSentence]) -> dict[str, float]:
    """The parts alone: tags for gold words, trees for gold words with those tags."""
    tags = tag_words(backend.segmenter, [sentence.words for sentence in gold])
    trees = backend.parser.parse([(sentence.words, predicted) for sentence, predicted in zip(gold, tags, strict=True)])
    words = sum(map(len, gold))
    right = {"upos": 0, "uas": 0, "las": 0}
    for sentence, predicted, (heads, rels) in zip(gold, tags, trees, strict=True):
        right["upos"] += sum(a == b for a, b in zip(sentence.tags, predicted, strict=True))
        arcs = [
            (a == b, a == b and c == d) for a, b, c, d in zip(sentence.heads, heads, sentence.rels, rels, strict=True)
        ]
        right["uas"] += sum(a for a, _ in arcs)
        right["las"] += sum(b for _, b in arcs)
    return {f"{name}_gold_words": 100 * count / words for name, count in right.items()}
