"""`masked-seq2seq` (Li et al. 2020): a fragment of a sentence is masked and written anew by a label-aware
encoder-decoder.

In: sentences with their marks. Out: per sentence up to `copies` candidates, from as many start positions (section
3.2.2), the likeliest beams of each. Labelled tokens are forced, so an aspect cannot change. The model is trained on the
sentences themselves (algorithm 1) and kept in a folder. Bases: `embedded` (characters for Chinese, words for English;
pre-trained on raw reviews, or on the same sentences without their labels), or any encoder-decoder of a hub or a folder,
which may learn from raw reviews first, as the paper's does.

What differs from the paper: a base's tokens stand for words (fragments are of whole words all the same), marks of
punctuation stay (and the embedded model writes none), what the constraints would reject is not written (embedded model,
Chinese), and beside aspects opinions can be kept.
"""

from __future__ import annotations

import hashlib
import random
from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, field, replace
from itertools import islice, product, zip_longest

from builder.augment.constraints import Cue, Cues, may_not_come, must_stay
from builder.augment.method_settings import MaskedSeq2SeqSettings, sign_method
from builder.augment.methods.replacing import unit_inventory
from builder.augment.nets import fragments
from builder.augment.nets.beam import Barred, Beams, Pairs
from builder.augment.nets.fragments import NAME, Writing, chosen_fragments, masked, pairs, train_fragments, write
from builder.augment.nets.transformer import LabelledSeq2Seq, MaskedSentence
from builder.augment.records import Edit, Rewrite, Sentence
from builder.augment.training import Workplace, bio, english, kept
from builder.core.records import Span
from builder.learning.pieces import UNK, Cut, Inventory, Units, own_marks
from builder.learning.task import seed_of
from builder.reviews.repair import fold

_CHUNK = 4096
_MASS = 0.5
"""The share that is masked in pre-training (Song et al. 2019)."""
_LEAST = 2
"""So many Chinese tokens are masked at once: one alone is mostly a 的 or 了, and nothing else stands there."""


# ---- What beams may not write

LABELLED = -1
"""The number of what is never free."""


@dataclass(frozen=True, slots=True)
class Bars:
    """`table`: see `builder.augment.nets.beam`. Without `cues` only labelled terms are barred, and nothing more is
    held than what has a label.
    """

    table: Barred = field(default_factory=dict)
    cues: Cues | None = None
    numbers: Mapping[Cue, int] = field(default_factory=dict)

    @property
    def signature(self) -> str:
        """What it says of the lexicons, on which proposals depend."""
        return hashlib.sha256(repr(sorted(self.cues.table.items())).encode()).hexdigest()[:8] if self.cues else "none"

    def held(self, sentence: Sentence) -> Sequence[Span]:
        """Where words stand that must stay."""
        return must_stay(sentence, self.cues) if self.cues else ()

    def free(self, sentence: Sentence, hidden: Sequence[Span]) -> Set[int]:
        """The numbers of the cues of which all that stands in a fragment is `hidden`: what is written in their place
        may say them again.
        """
        if self.cues is None or not hidden:
            return frozenset()
        first, last = hidden[0][0], hidden[-1][1]
        gone = {at for start, end in hidden for at in range(start, end)}
        spans = [(range(max(start, first), min(end, last)), cue) for start, end, cue in self.cues.spans(sentence.text)]
        return {
            self.numbers[cue] for places, cue in spans if places and gone.issuperset(places) and cue in self.numbers
        }


def bars(sentences: Sequence[Sentence], inventory: Inventory, cues: Cues | None) -> Bars:
    """The terms that the sentences label, of two characters or a word at least, where nothing is labelled; and cues
    of the sorts that may not come into any of the sentences, however the model spells them.
    """
    if not isinstance(inventory, Units):
        return Bars()
    table: dict[tuple[int, ...], dict[int, int]] = {}
    for ids in _terms(sentences, inventory):
        table.setdefault(ids[:-1], {})[ids[-1]] = LABELLED
    if cues is None or inventory.unit != "char":
        return Bars(table)
    sorts = {sort for sentence in sentences for sort in may_not_come(sentence)}
    barred = {word: cue for word, cue in cues.table.items() if cue.sort in sorts}
    numbers = {cue: number for number, cue in enumerate(dict.fromkeys(barred.values()))}
    for ids, cue in _spelt(barred, inventory.vocabulary.numbers):
        table.setdefault(ids[:-1], {})[ids[-1]] = numbers[cue]
    return Bars(table, cues, numbers)


def _terms(sentences: Iterable[Sentence], inventory: Inventory) -> Iterator[tuple[int, ...]]:
    for sentence in sentences:
        cut = inventory.cut(sentence.text, sentence.words)
        for mark in kept(sentence):
            ids = tuple(
                i for i, (start, end) in zip(cut.ids, cut.spans, strict=True) if start < mark.end and mark.start < end
            )
            if mark.end - mark.start > 1 and UNK not in ids:
                yield ids


def _spelt(words: Mapping[str, Cue], index: Mapping[str, int]) -> Iterator[tuple[tuple[int, ...], Cue]]:
    """Folded words as tokens, in every script that the model has the characters of."""
    spellings: dict[str, list[int]] = {}
    for token, i in index.items():
        spellings.setdefault(fold(token), []).append(i)
    for word, cue in words.items():
        for ids in product(*(spellings.get(char, ()) for char in word)):
            yield ids, cue


# ---- The method


@dataclass(frozen=True, slots=True, eq=False)
class MaskedSeq2Seq:
    """A trained model as a Method.

    `bars`: what it must not write. `pairs`: which tokens may stand beside each other, where it has read a corpus.
    """

    settings: MaskedSeq2SeqSettings
    network: LabelledSeq2Seq
    inventory: Inventory
    digest: str
    place: Workplace
    bars: Bars = field(default_factory=Bars)
    pairs: Pairs | None = None
    name: str = NAME

    @property
    def signature(self) -> str:
        return sign_method(NAME, self.settings, f"model {self.digest[:16]}", f"cues {self.bars.signature}")

    def propose(self, sentences: Sequence[Sentence], copies: int, seed: int) -> Iterator[tuple[Rewrite, ...]]:
        """Up to `copies` candidates a sentence, of as many fragments with distinct starts, the surest first; where
        there are fewer starts, of their next best beams. A sentence of which every token is labelled gets none.
        """
        for at in range(0, len(sentences), _CHUNK):
            yield from self._chunk(sentences[at : at + _CHUNK], copies, seed)

    def _chunk(self, sentences: Sequence[Sentence], copies: int, seed: int) -> Iterator[tuple[Rewrite, ...]]:
        how, place = self.settings, self.place
        plans = [(n, *plan) for n, sentence in enumerate(sentences) for plan in self._masked(sentence, copies, seed)]
        never = own_marks(self.inventory) or () if how.whole else ()
        writing = Writing(how.beams, place.threads, self.bars.table, never, self.pairs if how.whole else None)
        items, free = [item for _, _, item, _ in plans], [numbers for *_, numbers in plans]
        rewrites: dict[int, tuple[Rewrite, ...]] = {}
        for i, beams in write(self.network, items, self.inventory, writing, place.progress, free):
            n, cut, item, _ = plans[i]
            rewrites[i] = tuple(self._changing(sentences[n], cut, item, beams))
        by_sentence: list[list[tuple[Rewrite, ...]]] = [[] for _ in sentences]
        for i, (n, *_) in enumerate(plans):
            by_sentence[n].append(rewrites.get(i, ()))
        for searches in by_sentence:
            ranked = (rewrite for rank in zip_longest(*searches) for rewrite in rank if rewrite is not None)
            yield tuple(islice(ranked, copies))

    def _masked(self, sentence: Sentence, copies: int, seed: int) -> Iterator[tuple[Cut, MaskedSentence, Set[int]]]:
        """The tokens of the sentence, each masked fragment of it, and the numbers of `bars` that it may write."""
        cut = self.inventory.cut(sentence.text, sentence.words)
        labels = bio(cut.spans, kept(sentence))
        if not len(cut) or len(cut) >= self.network.core.longest:
            return
        draw = random.Random(seed_of(seed, NAME, sentence.id, sentence.text))
        r = min(self.settings.r, self.settings.most / len(cut)) if self.settings.most else self.settings.r
        stay = self.bars.held(sentence)
        held = [
            bool(label) or any(a < end and start < b for a, b in stay)
            for label, (start, end) in zip(labels, cut.spans, strict=True)
        ]
        edges: Sequence[bool] = ()
        if self.settings.whole:
            words = {start for start, _ in sentence.words}
            edges = [*(start in words for start, _ in cut.spans), True]
            held = [
                kept or not any(map(str.isalnum, sentence.text[start:end]))
                for kept, (start, end) in zip(held, cut.spans, strict=True)
            ]
        least = _LEAST if self.settings.whole and sentence.language == "zh" else 1
        for first, end in chosen_fragments(held, r, copies, draw, edges, least):
            hidden = [place for place, kept in zip(cut.spans[first:end], held[first:end], strict=True) if not kept]
            yield cut, masked(cut.ids, labels, (first, end), self.inventory, held), self.bars.free(sentence, hidden)

    def _changing(self, sentence: Sentence, cut: Cut, item: MaskedSentence, beams: Beams) -> Iterator[Rewrite]:
        """The beams that change the sentence, without those that end within a character of several bytes."""
        for tokens, score in beams.sequences:
            new = {
                at: i
                for at, i in enumerate(tokens, start=item.start)
                if item.source[at] == self.inventory.mask and i != cut.ids[at]
            }
            edits = tuple(Edit(*change) for change in self.inventory.written(sentence.text, cut, new))
            if (edits or self.settings.again) and not any("\ufffd" in edit.text for edit in edits):
                yield Rewrite(sentence.id, edits, score)


def load(
    settings: MaskedSeq2SeqSettings,
    sentences: Sequence[Sentence],
    place: Workplace,
    corpus: Sequence[Sentence] = (),
    cues: Cues | None = None,
) -> MaskedSeq2Seq:
    """The method with the model that belongs to these sentences and settings: read, or trained now and kept. `corpus`
    are the raw sentences that `settings.corpus` names; `cues`, of Chinese, tell what the constraints would reject.

    Raises ModelError where there is nothing to learn from or the base is no encoder-decoder, InputError where labels
    overlap.
    """
    network: LabelledSeq2Seq
    inventory: Inventory
    if settings.base != "embedded":
        network, inventory, base = fragments.based(settings.base, settings.label_embeddings, place.seed)
    else:
        inventory, base = unit_inventory(corpus or sentences, False, settings.min_count), "embedded"
        network = fragments.embedded(inventory.size, settings.width, settings.label_embeddings, place.seed)
    if corpus:
        first = replace(settings.begun(), r=_MASS, label_embeddings=False)
        apart = place.of_corpus(NAME)
        base = train_fragments(first, corpus, network, inventory, base, apart, [(first.epochs, False)])
    phases = [(settings.epochs, True)]
    if settings.pretrain_epochs and not corpus:
        phases.insert(0, (settings.pretrain_epochs, False))
    digest = train_fragments(settings, sentences, network, inventory, base, place, phases)
    barred = bars(sentences, inventory, cues) if settings.whole else Bars()
    known = None
    if corpus and settings.base == "embedded" and not english(corpus):
        texts = (inventory.cut(sentence.text, sentence.words).ids for sentence in corpus)
        known = pairs(texts, inventory, settings.min_count)
    return MaskedSeq2Seq(settings, network.eval(), inventory, digest, place, barred, known)
