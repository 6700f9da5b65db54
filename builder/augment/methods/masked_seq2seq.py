"""`masked-seq2seq` (Li et al. 2020): a fragment of a sentence is masked and written anew by a label-aware
encoder-decoder.

In: sentences with their marks. Out: per sentence up to `copies` candidates, from as many start positions (section
3.2.2), of their beams those that are likely under their context and their context under them. Labelled tokens are
forced, so an aspect cannot change. The model is trained on the sentences themselves (algorithm 1) and kept in a
folder. Bases: `embedded` (characters for Chinese, words for English; pre-trained on raw reviews, or on the same
sentences without their labels), or any encoder-decoder of a hub or a folder. What differs from the paper: a base's
tokens stand for words (fragments are of whole words all the same), marks of punctuation stay (and the embedded model
writes none), beams are chosen by what stands around them, what the constraints would reject is not written (embedded
model, Chinese), and beside aspects opinions can be kept.
"""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence, Set
from dataclasses import dataclass, field, replace
from itertools import accumulate, starmap
from pathlib import Path
from typing import TYPE_CHECKING

from builder.augment import beams
from builder.augment.barring import Bars, bars
from builder.augment.beams import Beam, BeamLimits, FragmentReader, fitted, surest
from builder.augment.cues import Cues
from builder.augment.mask_frag import chosen_fragments, fragment, mask_frag, starts, weight
from builder.augment.records import Edit, Rewrite, Sentence
from builder.augment.replacing import unit_inventory
from builder.augment.signatures import LATER, describe_settings, describe_training
from builder.augment.token_labels import KINDS, LABELS, bio, kept
from builder.augment.training import InDomain, corpora
from builder.errors import ModelError
from builder.kept import Kept
from builder.limits import Limits, among, at_least
from builder.records import Span

if TYPE_CHECKING:
    from builder.augment.nets.beam import Beams, Pairs
    from builder.augment.nets.seq2seq import LabelledSeq2Seq, MaskedSentence
    from builder.learning.pieces import Cut, Inventory
    from builder.learning.task import Progress

NAME = "masked-seq2seq"
_CHUNK = 4096
_MASS = 0.5
"""The share that is masked in pre-training (Song et al. 2019)."""
_SOME = 200
"""About so many sentences tell how likely a token usually is."""
_LEAST = 2
"""So many Chinese tokens are masked at once: one alone is mostly a 的 or 了, and nothing else stands there."""
_FAST = 3
"""By so much the embedded network learns faster than other embedded ones: at their rate a pass over a corpus leaves
it half taught.
"""


@dataclass(frozen=True, slots=True)
class MaskedSeq2SeqSettings(InDomain):
    """A fragment of the sentence is masked and written anew around its labelled words (Li et al. 2020)."""

    r: float = 0.5
    """Share of the sentence that is masked; the paper tries 0.3 to 0.7."""
    keep: str = "aspect"
    """Labels that are forced: `aspect` or `aspect+opinion`."""
    beams: int = field(default=5, metadata=LATER)
    """Beams of the search."""
    label_embeddings: bool = True
    """Tokens carry their labels; without them: the ablation of table 3."""
    again: bool = field(default=False, metadata=LATER)
    """The best beam counts even if it restores the old fragment, as in the paper."""
    most: int = field(default=0, metadata=LATER)
    """Tokens written at once at most, and one more; 0: as many as `r` says."""
    whole: bool = field(default=True, metadata=LATER)
    """Fragments are whole words, punctuation stays, and nothing is written that a constraint would reject."""
    fitting: bool = field(default=True, metadata=LATER)
    """The beams that fit best count, within `least_fit` and `most_surprise`; else the likeliest."""
    each: int = field(default=2, metadata=LATER)
    """Beams of a fragment that count."""
    least_fit: float = field(default=-2.0, metadata=LATER)
    """Least log ratio of the context's likelihood beside the new and the old fragment."""
    most_surprise: float = field(default=8.0, metadata=LATER)
    """A fragment may be as unlikely as so many usual tokens."""
    pretrain_epochs: int = 4
    epochs: int = 8
    patience: int = 2
    encoder: int = 1
    """Encoder layers of the embedded model."""
    decoder: int = 1
    """Decoder layers of the embedded model."""

    def limits(self) -> Limits:
        return InDomain.limits(self) | {
            "r": (0 < self.r <= 1, "a share above 0 (the paper uses 0.3 to 0.7)"),
            "keep": among(tuple(KINDS), self.keep),
            **{name: at_least(1, getattr(self, name)) for name in ("beams", "each", "encoder", "decoder")},
            "most": at_least(0, self.most),
        }


@dataclass(frozen=True, slots=True, eq=False)
class MaskedSeq2Seq:
    """A trained model as a Method. `usual`: see Reader; `bars`: what it must not write; `pairs`: which tokens it may
    write beside each other, where it has read a corpus.
    """

    settings: MaskedSeq2SeqSettings
    network: LabelledSeq2Seq
    inventory: Inventory
    digest: str
    progress: Progress | None = None
    bars: Bars = field(default_factory=Bars)
    pairs: Pairs | None = None
    usual: float = 1.0

    @property
    def reader(self) -> FragmentReader:
        return FragmentReader(self.network, self.inventory, self.usual, self.settings.batch, self.settings.threads)

    @property
    def name(self) -> str:
        return NAME

    @property
    def signature(self) -> str:
        return f"{NAME}({describe_settings(self.settings)}; model {self.digest[:16]}; cues {self.bars.signature})"

    def propose(self, sentences: Sequence[Sentence], copies: int, seed: int) -> Iterator[tuple[Rewrite, ...]]:
        """Up to `copies` candidates a sentence, of as many fragments with distinct starts, the surest first; a
        sentence of which every token is labelled gets none.
        """
        for at in range(0, len(sentences), _CHUNK):
            yield from self._chunk(sentences[at : at + _CHUNK], copies, seed)

    def _chunk(self, sentences: Sequence[Sentence], copies: int, seed: int) -> Iterator[tuple[Rewrite, ...]]:
        from builder.augment.nets.writing import Writing, write
        from builder.learning.pieces import own_marks

        how = self.settings
        plans = [(n, *plan) for n, sentence in enumerate(sentences) for plan in self._masked(sentence, copies, seed)]
        never = own_marks(self.inventory) or () if how.whole else ()
        writing = Writing(how.beams, how.batch, how.threads, self.bars.table, never, self.pairs if how.whole else None)
        items, free = [item for _, _, item, _ in plans], [numbers for *_, numbers in plans]
        searched: list[list[Beam]] = [[] for _ in plans]
        for i, found in write(self.network, items, self.inventory, writing, self.progress, free):
            n, cut, item, _ = plans[i]
            searched[i] = list(self._beams(sentences[n], cut, item, found))
        limits = BeamLimits(how.each, how.least_fit, how.most_surprise)
        if how.fitting:
            searched = fitted(
                self.reader,
                [(cut.ids, item, beams_) for (_, cut, item, _), beams_ in zip(plans, searched, strict=True)],
                limits,
            )
        made: list[list[Beam]] = [[] for _ in sentences]
        for (n, *_), listed in zip(plans, searched, strict=True):
            made[n] += listed if how.fitting else listed[:1]
        for sentence, listed in zip(sentences, made, strict=True):
            chosen = surest(sentence.text, listed, copies) if how.fitting else listed
            yield tuple(Rewrite(sentence.id, beam.edits, beam.score, doubt=beam.doubt(limits)) for beam in chosen)

    def _masked(self, sentence: Sentence, copies: int, seed: int) -> Iterator[tuple[Cut, MaskedSentence, Set[int]]]:
        """Fragments with the tokens of the sentence, and what they may say of `bars`."""
        from builder.learning.seeds import seed_of

        cut = self.inventory.cut(sentence.text, sentence.words)
        labels = bio(cut.spans, kept(sentence, self.settings.keep))
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

    def _beams(self, sentence: Sentence, cut: Cut, item: MaskedSentence, found: Beams) -> Iterator[Beam]:
        """The beams that are not the source again; one that ends within a character of several bytes is none."""
        for said, score in found.sequences:
            new = {
                at: i
                for at, i in enumerate(said, start=item.start)
                if item.source[at] == self.inventory.mask and i != cut.ids[at]
            }
            edits = tuple(Edit(*one) for one in self.inventory.written(sentence.text, cut, new))
            if (edits or self.settings.again) and not any("\ufffd" in edit.text for edit in edits):
                yield Beam(said, edits, score)


def masked(
    ids: Sequence[int], labels: Sequence[int], span: Span, inventory: Inventory, held: Sequence[object] = ()
) -> MaskedSentence:
    """MaskFrag as a model's example; `held` are the tokens that stay, if more do than those with a label."""
    from builder.augment.nets.seq2seq import MaskedSentence

    first, end = span
    hidden = mask_frag(ids, held or labels, span, inventory.mask)
    return MaskedSentence(
        hidden,
        tuple(labels),
        first,
        tuple(ids[first:end]),
        ids[first - 1] if first else inventory.first,
        labels[first - 1] if first else 0,
    )


@dataclass(frozen=True, slots=True)
class _Source:
    """The training sentences as tokens and labels, with the cumulated weights of equation 1."""

    cuts: tuple[tuple[tuple[int, ...], tuple[int, ...]], ...]
    cumulated: tuple[float, ...]
    inventory: Inventory
    r: float

    @classmethod
    def of(cls, cuts: Sequence[tuple[tuple[int, ...], tuple[int, ...]]], inventory: Inventory, r: float) -> _Source:
        return cls(tuple(cuts), tuple(accumulate(weight(len(ids)) for ids, _ in cuts)), inventory, r)

    def draw(self, count: int, seed: int, labelled: bool) -> list[MaskedSentence]:
        """`count` sentences with replacement and a start each (algorithm 1, lines 4 to 6); without labels every token
        is O.
        """
        draw = random.Random(seed)
        out = []
        for n in draw.choices(range(len(self.cuts)), cum_weights=self.cumulated, k=count):
            ids, labels = self.cuts[n]
            said = labels if labelled else (0,) * len(ids)
            u = draw.choice(starts(len(ids), self.r))
            out.append(masked(ids, said, fragment(len(ids), u, self.r), self.inventory))
        return out


def load(
    settings: MaskedSeq2SeqSettings,
    sentences: Sequence[Sentence],
    folder: Path,
    seed: int = 0,
    progress: Progress | None = None,
    corpus: Sequence[Sentence] = (),
    cues: Cues | None = None,
) -> MaskedSeq2Seq:
    """The method with the model that belongs to these sentences and settings: read from `folder`, or trained now and
    kept there. `corpus` are the raw sentences that `settings.corpus` names; `cues`, of Chinese, tell what the
    constraints would reject.

    Raises ModelError where there is nothing to learn from or the base is no encoder-decoder, InputError where labels
    overlap.
    """
    from builder.augment.nets.writing import pairs

    network, inventory, base = _network(settings, corpus or sentences, seed)
    if corpus:
        begun = replace(settings.begun(), r=_MASS, keep="aspect", label_embeddings=False)
        base = _learned(
            begun, corpus, network, inventory, base, corpora(folder, NAME), seed, progress, [(begun.epochs, False)]
        )
    phases = [(settings.epochs, True)]
    if settings.pretrain_epochs and not corpus:
        phases.insert(0, (settings.pretrain_epochs, False))
    digest = _learned(settings, sentences, network, inventory, base, folder, seed, progress, phases)
    barred = bars(sentences, inventory, settings.keep, cues) if settings.whole else Bars()
    known = (
        pairs((inventory.cut(corpu.text, corpu.words).ids for corpu in corpus), inventory, settings.min_count)
        if cues and corpus
        else None
    )
    made = MaskedSeq2Seq(settings, network.eval(), inventory, digest, progress, barred, known)
    return replace(made, usual=_usual(made, sentences, folder)) if settings.fitting else made


def _usual(made: MaskedSeq2Seq, sentences: Sequence[Sentence], folder: Path) -> float:
    """See Reader; kept beside the model under a key of its own, of the model and of all code that tells it."""
    from builder.learning.obtain import training_key

    cuts = [
        ids
        for sentence in sentences
        if _learnable(ids := made.inventory.cut(sentence.text, sentence.words).ids, made.network)
    ]
    some = cuts[:: max(1, len(cuts) // _SOME)]
    key = training_key(f"{NAME} usual", describe_training(made.settings), some, made.digest, __name__)
    return float(Kept(folder).get(key, lambda: beams.usual(made.reader, some), slot="usual"))


def _learnable(ids: Sequence[int], network: LabelledSeq2Seq) -> bool:
    return bool(weight(len(ids))) and len(ids) < network.core.longest


def _learned(
    settings: MaskedSeq2SeqSettings,
    sentences: Sequence[Sentence],
    network: LabelledSeq2Seq,
    inventory: Inventory,
    base: str,
    folder: Path,
    seed: int,
    progress: Progress | None,
    phases: Sequence[tuple[int, bool]],
) -> str:
    """Give `network` what training on the sentences in phases of (epochs, with labels) leads to, or what is kept of
    it. Returns its digest.
    """
    from builder.augment.nets import fragments
    from builder.learning.obtain import ModelShelf, Phase, TrainingRun, load_or_train, split_held_out, training_key

    cuts = [
        (cut.ids, bio(cut.spans, kept(sentence, settings.keep)))
        for sentence in sentences
        for cut in [inventory.cut(sentence.text, sentence.words)]
    ]
    fitting = [n for n, (ids, _) in enumerate(cuts) if _learnable(ids, network)]
    if not fitting:
        raise ModelError(
            f"no sentence of more than five tokens to learn from (of {len(sentences)})",
            where=NAME,
            fix="give more training text",
        )
    data = [
        (sentence.id, sentence.text, sentence.words, labels)
        for sentence, (_, labels) in zip(sentences, cuts, strict=True)
    ]
    key = training_key(NAME, (describe_training(settings), seed), data, base, "builder.augment.nets.fragments")
    learnt, held = split_held_out([sentences[n].id for n in fitting], 0.05, seed)
    source, checked = (_Source.of([cuts[fitting[n]] for n in part], inventory, settings.r) for part in (learnt, held))
    network.labels.weight.requires_grad_(settings.label_embeddings)

    def phase(epochs: int, labelled: bool) -> Phase[MaskedSentence]:
        count = max(len(learnt), settings.least)
        return Phase(
            lambda epoch: source.draw(count, _seed(seed, labelled, epoch), labelled),
            checked.draw(max(200, len(held)), seed, labelled),
            settings.schedule(epochs, sentences, settings.own_rate * (_FAST if settings.base == "embedded" else 1)),
        )

    def train(run: TrainingRun) -> dict[str, float]:
        return fragments.train(network, list(starmap(phase, phases)), inventory, run)

    return load_or_train(ModelShelf(folder, seed, progress), key, network, train)


def _seed(*parts: object) -> int:
    from builder.learning.seeds import seed_of

    return seed_of(NAME, *parts)


def _network(
    settings: MaskedSeq2SeqSettings, sentences: Sequence[Sentence], seed: int
) -> tuple[LabelledSeq2Seq, Inventory, str]:
    """The untrained network, its tokens, and the digest of what it begins with."""
    from builder.augment.nets import fragments
    from builder.augment.nets.seq2seq import Seq2SeqShape

    if settings.base != "embedded":
        return fragments.based(settings.base, len(LABELS), settings.label_embeddings, seed)
    units = unit_inventory(sentences, False, settings.min_count)
    shape = Seq2SeqShape(settings.width, encoder=settings.encoder, decoder=settings.decoder)
    return fragments.embedded(units.size, len(LABELS), shape, settings.label_embeddings, seed), units, "embedded"
