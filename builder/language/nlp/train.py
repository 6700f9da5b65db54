"""Training of the embedded models from UD treebanks: `train(treebanks, out, seed)`.

In: CoNLL-U files, by role. Out: segmenter.safetensors, parser.safetensors and config.json with their digests in `out`.
The segmenter is fitted by CRFsuite (L-BFGS), the parser by the visible loop in `fit_parser`. Both see sentences made
more like reviews: without the final mark, cut at commas. Where there is raw text, a larger parser is fitted first. The
small one that is written learns from its trees of that text as well.

UD v2 trees are rewritten in the labels of GSD v1, so that film subtitles and learners' essays can teach the parser too.
In: v2 sentences and, as the model, v1 sentences. Out: trees with v1 tags, relations and, where the two differ in shape,
v1 arcs. GSD is encyclopaedic, reviews are not: 很 modifies an adjective 24 times in its 98,000 words, and 92 times in
the 17,000 of HK and CFL. Adverbs and function words get the tag and relation that GSD gives them most often (也 is
mark, 不 is neg there). The rest follows the tables. Sentences whose clauses are joined by parataxis, which GSD does not
have, are taken clause by clause.

Scores of a backend against a treebank: `evaluate(backend, conllu)`.

In: a backend and a CoNLL-U file. Out: segmentation F1, tag F1 end to end, and attachment end to end (a dependency
counts if both words and the arc are right), all in percent. With the embedded backend also what it does with gold
words: tag accuracy, UAS and LAS with predicted tags. Every token counts, punctuation too.
"""

from __future__ import annotations

import tempfile
from collections import Counter, defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from random import Random

import numpy as np

from builder.core.errors import ConfigError, install_command
from builder.core.files import digest_file, read_text
from builder.core.records import Span, Token
from builder.language.nlp import Backend, conllu, crf
from builder.language.nlp.conllu import TAGS_V1, TreebankSentence, clauses, keep, read, surface, without_final_mark
from builder.language.nlp.crf import tag_words
from builder.language.nlp.embedded import Embedded
from builder.language.nlp.features import WINDOWS, fold, lay_out, streams
from builder.language.nlp.user_words import Words
from builder.reviews.script import converter, script_of

# ---- UD v2 trees in the labels of v1

_ASPECT = frozenset("了著過")
_CLOSED = frozenset(("ADP", "ADV", "AUX", "CONJ", "DET", "PART", "PRON"))
_RELATIONS = {
    "obj": "dobj", "obj:periph": "dobj", "obl": "nmod", "obl:agent": "nmod", "obl:patient": "nmod",
    "obl:tmod": "nmod:tmod", "compound": "nmod", "flat": "nmod", "clf": "nmod", "nsubj:pass": "nsubjpass",
    "nsubj:outer": "nsubj", "aux:pass": "auxpass", "case:loc": "acl", "mark:rel": "acl:relcl", "mark:adv": "mark",
    "compound:vv": "mark", "compound:dir": "mark", "compound:vo": "dobj", "compound:ext": "mark",
    "discourse:sp": "discourse", "advmod:df": "advmod", "advcl": "acl", "reparandum": "dep", "parataxis": "dep",
}  # fmt: skip


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


# ---- Training

_VECTORS = 10_000
_VECTOR_SIZE = 64
_TEACHER = {"hidden": 256, "arc": 160, "rel": 48}
"""Sizes of the larger parser, which only makes trees of raw text."""
_SILVER_WORDS = range(2, 81)
"""Lengths of the sentences of raw text that the small parser learns from."""


@dataclass(frozen=True, slots=True)
class TrainingFiles:
    """What the models are trained on.

    `v1`: treebanks with the labels of UD v1; `v2`: further ones, rewritten in those labels, Simplified
        converted;
    `raw`: text files, one text a line, for word vectors and for trees of the larger parser, segmented with the user's
        `words`.
    """

    v1: Sequence[Path]
    v2: Sequence[Path] = ()
    raw: Sequence[Path] = ()
    words: Mapping[str, str] = field(default_factory=dict)


def train(
    files: TrainingFiles,
    out: Path,
    seed: int = 1,
    *,
    folds: int = 3,
    iterations: int = 100,
    epochs: int = 40,
    say: Callable[[str], None] = lambda line: None,
) -> Path:
    """Train both models and write them with their config.json to `out`: about 40 minutes on one core, 1.5 GB."""
    from builder.language.nlp import embedded, parser
    from builder.language.nlp.fit_parser import fit_parser, word_vectors

    model = [sentence for path in files.v1 for sentence in conllu.read(path)]
    trees = [*model, *v1_like([traditional(sentence) for path in files.v2 for sentence in conllu.read(path)], model)]
    texts = [line for path in files.raw for line in read_text(path, "give texts in UTF-8, one a line").split("\n")]
    out.mkdir(parents=True, exist_ok=True)
    say(f"segmenter: {len(trees)} sentences")
    segmenter = fit_crf(trees, seed, iterations=iterations)
    crf.save(segmenter, out / embedded.FILES[0])
    say(f"tags for the parser by {folds} segmenters")
    tags = cross_tagged(trees, seed, folds, iterations // 2)
    say("word vectors")
    chains = zip(texts, embedded.Segmenter(segmenter, Words.of(files.words)).tag_chains(texts), strict=True)
    shown = [[text[start:end] for start, end, _ in words] for text, own in chains for words in own]
    shown += [list(sentence.words) for sentence in trees]
    vectors = word_vectors(
        [[fold(word.lower()) for word in sentence] for sentence in shown], _VECTOR_SIZE, _VECTORS, 6, seed
    )

    def report(epoch: int, loss: float, _: parser.Parser) -> None:
        say(f"epoch {epoch + 1}: loss {loss:.3f}")

    silver: list[TreebankSentence] = []
    if any(texts):
        say(f"larger parser: {len(trees)} trees, {len(vectors)} vectors, {epochs} epochs")
        teacher = fit_parser(trees, tags, vectors, seed, sizes=_TEACHER, epochs=epochs, rate=1.5e-3, after_epoch=report)
        silver = trees_of(embedded.Embedded({}, {}, segmenter, teacher, Words.of(files.words)), texts)
    say(f"parser: {len(trees)} trees, {len(silver)} of raw text, {len(vectors)} vectors, {epochs} epochs")
    student = fit_parser(trees, tags, vectors, seed, silver=silver, epochs=epochs, after_epoch=report)
    parser.save(student, out / embedded.FILES[1])
    embedded.write_config(out, {path.name: digest_file(path) for path in (*files.v1, *files.v2, *files.raw)})
    return out


def trees_of(backend: Backend, texts: Sequence[str]) -> list[TreebankSentence]:
    """The trees of texts by a backend, those of one word and of very many left out."""
    out: list[TreebankSentence] = []
    for text, tokens in zip(texts, backend.annotate(texts), strict=True):
        _, _, tags, heads, rels = zip(*tokens, strict=True) if tokens else ((),) * 5
        whole = TreebankSentence(tuple(text[token.start : token.end] for token in tokens), tags, heads, rels)
        units: dict[int, list[int]] = {}  # root -> the words below it
        for i in range(len(whole)):
            root = i
            while heads[root] >= 0:
                root = heads[root]
            units.setdefault(root, []).append(i)
        out += [keep(whole, words) for words in units.values() if len(words) in _SILVER_WORDS]
    return out


def traditional(sentence: TreebankSentence) -> TreebankSentence:
    """A Simplified sentence in Traditional script, word by word in its context; any other as it is."""
    text = "".join(sentence.words)
    if script_of(text) not in ("simplified", "mixed"):
        return sentence
    shown = iter(converter("s2tw")(text))
    return replace(sentence, words=tuple("".join(next(shown) for _ in word) for word in sentence.words))


def chains_of(sentence: TreebankSentence) -> list[tuple[str, list[str]]]:
    """The sentence as chains with one label (B-NOUN …) a character."""
    text, spans = surface(sentence.words)
    labels = [""] * len(text)
    for (start, end), tag in zip(spans, sentence.tags, strict=True):
        letters = "S" if end - start == 1 else "B" + "I" * (end - start - 2) + "E"
        labels[start:end] = [f"{letter}-{tag}" for letter in letters]
    out: list[tuple[str, list[str]]] = []
    at = 0
    for part in text.split(" "):
        if part:
            out.append((part, labels[at : at + len(part)]))
        at += len(part) + 1
    return out


def fit_crf(
    sentences: Sequence[TreebankSentence],
    seed: int,
    *,
    iterations: int = 100,
    c1: float = 0.1,
    c2: float = 0.1,
    minfreq: int = 2,
) -> crf.Crf:
    """A segmenter fitted by CRFsuite. Atoms seen fewer than `minfreq` times are no features; L1 keeps it small."""
    try:
        import pycrfsuite
    except ImportError as error:
        raise ConfigError("fitting the segmenter needs python-crfsuite", fix=install_command("train")) from error

    random = Random(seed)
    chains = [chain for s in sentences for chain in chains_of(without_final_mark(s) if random.random() < 0.5 else s)]
    text, starts = lay_out([chain for chain, _ in chains])
    atoms = streams(text)
    frequent = {name: [a for a, n in sorted(Counter(column).items()) if n >= minfreq] for name, column in atoms.items()}
    numbers = {name: {atom: i for i, atom in enumerate(known)} for name, known in frequent.items()}
    trainer = pycrfsuite.Trainer(algorithm="lbfgs", verbose=False)
    trainer.set_params({"c1": c1, "c2": c2, "max_iterations": iterations, "feature.possible_transitions": False})
    for start, (chain, labels) in zip(starts, chains, strict=True):
        trainer.append([_attributes(atoms, numbers, i) for i in range(start, start + len(chain))], labels)
    with tempfile.TemporaryDirectory() as folder:
        path = str(Path(folder) / "model.crfsuite")
        trainer.train(path)
        tagger = pycrfsuite.Tagger()
        tagger.open(path)
        info = tagger.info()
        tagger.close()
    return _unpack(frequent, info.state_features, info.transitions)


def _attributes(atoms: dict[str, list[str]], numbers: dict[str, dict[str, int]], i: int) -> list[str]:
    """CRFsuite's attributes of a character, with numbers for atoms, which may hold what CRFsuite's dump may not."""
    out = []
    for name, offsets in WINDOWS.items():
        column, known = atoms[name], numbers[name]
        out += [f"{name} {offset} {known[column[i + offset]]}" for offset in offsets if column[i + offset] in known]
    return out


def _unpack(
    atoms: dict[str, list[str]],
    state: dict[tuple[str, str], float],
    moves: dict[tuple[str, str], float],
    smallest: float = 0.02,
) -> crf.Crf:
    """CRFsuite's dictionaries as tables; weights below `smallest` decide nothing and are dropped."""
    tags = sorted({label[2:] for _, label in state})
    labels = {
        f"{letter}-{tag}": i * len(tags) + j for i, letter in enumerate(crf.LETTERS) for j, tag in enumerate(tags)
    }
    weights = [
        (attribute.split(" "), labels[label], w) for (attribute, label), w in state.items() if abs(w) >= smallest
    ]
    rows: dict[str, dict[str, int]] = {name: {} for name in WINDOWS}
    for name, number in sorted({(name, int(number)) for (name, _, number), _, _ in weights}):
        rows[name][atoms[name][number]] = len(rows[name]) + 1
    tables = {
        (name, o): np.zeros((len(rows[name]) + 1, len(labels)), np.float32)
        for name, offsets in WINDOWS.items()
        for o in offsets
    }
    for (name, offset, atom), column, weight in weights:
        tables[name, int(offset)][rows[name][atoms[name][int(atom)]], column] = weight
    transitions = np.full((len(labels), len(labels)), -5.0, np.float32)
    for (origin, goal), weight in moves.items():
        transitions[labels[origin], labels[goal]] = weight
    return crf.Crf(tuple(tags), rows, tables, transitions)


def cross_tagged(
    sentences: Sequence[TreebankSentence], seed: int, folds: int, iterations: int
) -> list[tuple[str, ...]]:
    """Tags of each sentence by a segmenter that did not see it: the parser learns from tags as wrong as it will get."""
    out: list[tuple[str, ...]] = [()] * len(sentences)
    for fold_number in range(folds):
        held = range(fold_number, len(sentences), folds)
        seen = [s for i, s in enumerate(sentences) if i % folds != fold_number]
        model = fit_crf(seen, seed, iterations=iterations)
        for i, tags in zip(held, crf.tag_words(model, [sentences[i].words for i in held]), strict=True):
            out[i] = tags
    return out


# ---- Scores against a treebank


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
