"""`masked-seq2seq` (Li et al. 2020): a fragment of a sentence is masked and written anew by a label-aware
encoder-decoder.

Candidates have as many start positions (section 3.2.2); labelled tokens are forced, so an aspect cannot change. The
model learns from the sentences (algorithm 1), from raw reviews before. Bases: `embedded` (characters for Chinese, words
for English), or any encoder-decoder. Unlike the paper's, a base's tokens stand for words, marks of punctuation stay,
and opinions can be kept beside aspects.
"""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import islice, zip_longest

from builder.augment.candidates import Edit, Rewrite, Sentence
from builder.augment.method_settings import MaskedSeq2SeqSettings, sign_method
from builder.augment.methods.replacing import unit_inventory
from builder.augment.nets import fragments
from builder.augment.nets.beam import Beams, Pairs
from builder.augment.nets.fragments import NAME, Writing, chosen_fragments, masked, pairs, train_fragments, write
from builder.augment.nets.transformer import LabelledSeq2Seq, MaskedSentence
from builder.augment.training import Workplace, bio, candidates_by_plan, english, kept, trained
from builder.learning.pieces import Cut, Inventory, own_marks
from builder.learning.task import seed_of

_MASS = 0.5
"""The share that is masked in pre-training (Song et al. 2019)."""
_LEAST = 2
"""So many Chinese tokens are masked at once: one alone is mostly a 的 or 了, and nothing else stands there."""


@dataclass(frozen=True, slots=True, eq=False)
class MaskedSeq2Seq:
    """A trained model as a Method. `pairs`: which tokens may stand beside each other, where it has read a corpus."""

    settings: MaskedSeq2SeqSettings
    network: LabelledSeq2Seq
    inventory: Inventory
    digest: str
    place: Workplace
    pairs: Pairs | None = None
    name: str = NAME

    @property
    def signature(self) -> str:
        return sign_method(NAME, self.settings, f"model {self.digest[:16]}")

    def propose(self, sentences: Sequence[Sentence], copies: int, seed: int) -> Iterator[tuple[Rewrite, ...]]:
        """Up to `copies` candidates of as many fragments, the surest first; of few fragments, further beams."""
        how, place = self.settings, self.place
        never = own_marks(self.inventory) or () if how.whole else ()
        writing = Writing(how.beams, place.threads, never, self.pairs if how.whole else None)
        plan = partial(self._masked, copies, seed)
        written = lambda items: write(self.network, items, self.inventory, writing, place.progress)
        for searches in candidates_by_plan(sentences, plan, written, self._changing):
            ranked = (rewrite for rank in zip_longest(*searches) for rewrite in rank if rewrite is not None)
            yield tuple(islice(ranked, copies))

    def _masked(self, copies: int, seed: int, sentence: Sentence) -> Iterator[tuple[Cut, MaskedSentence]]:
        """The tokens of the sentence, and each masked fragment of it."""
        cut = self.inventory.cut(sentence.text, sentence.words)
        labels = bio(cut.spans, kept(sentence))
        if not len(cut) or len(cut) >= self.network.core.longest:
            return
        draw = random.Random(seed_of(seed, NAME, sentence.id, sentence.text))
        r = min(self.settings.r, self.settings.most / len(cut)) if self.settings.most else self.settings.r
        held = list(map(bool, labels))
        edges: Sequence[bool] = ()
        if self.settings.whole:
            words = {start for start, _ in sentence.words}
            edges = [*(start in words for start, _ in cut.spans), True]
            held = [
                kept or not any(map(str.isalnum, sentence.text[start:end]))
                for kept, (start, end) in zip(held, cut.spans, strict=True)
            ]
        least = _LEAST if self.settings.whole and sentence.language == "zh" else 1
        for fragment in chosen_fragments(held, r, copies, draw, edges, least):
            yield cut, masked(cut.ids, labels, fragment, self.inventory, held)

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
    settings: MaskedSeq2SeqSettings, sentences: Sequence[Sentence], place: Workplace, corpus: Sequence[Sentence] = ()
) -> MaskedSeq2Seq:
    """The method with its model: read, or trained and kept; `corpus` is read first. ModelError where sentences or base
    do not serve, InputError where labels overlap.
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
    known = None
    if corpus and settings.base == "embedded" and not english(corpus):
        texts = (inventory.cut(sentence.text, sentence.words).ids for sentence in corpus)
        known = pairs(texts, inventory, settings.min_count)
    return MaskedSeq2Seq(settings, network.eval(), inventory, digest, place, known)


make = trained(NAME, lambda own, given, place, corpus: load(own, given.sentences, place, corpus))
