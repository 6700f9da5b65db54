"""Masked sequence-to-sequence models and their training on drawn fragments. In: token ids and labels. Out: a trained
`LabelledSeq2Seq` network.
"""

from __future__ import annotations

from collections.abc import Sequence

from builder.augment.nets import hub
from builder.augment.nets.seq2seq import EmbeddedCore, HubCore, LabelledSeq2Seq, MaskedSentence, Seq2SeqShape, loss
from builder.learning.checkpoint import tensor_digest
from builder.learning.loop import scope
from builder.learning.obtain import Measure, Phase, TrainingRun, train_phases
from builder.learning.pieces import Inventory


def embedded(size: int, labels: int, shape: Seq2SeqShape, used: bool, seed: int) -> LabelledSeq2Seq:
    """The embedded network with random weights."""
    with scope(1, seed):
        return LabelledSeq2Seq(EmbeddedCore(size, shape), labels, used)


def based(source: str, labels: int, used: bool, seed: int) -> tuple[LabelledSeq2Seq, hub.HubInventory, str]:
    """Any encoder-decoder of a hub or folder with label embeddings, its tokens, and the digest of its weights."""
    network, inventory = hub.load_seq2seq(source)
    with scope(1, seed):
        labelled = LabelledSeq2Seq(HubCore(network), labels, used)
    return labelled, inventory, tensor_digest(dict(network.named_parameters()))


def pad_of(inventory: Inventory) -> int:
    """The token that fills up shorter rows."""
    return int(getattr(inventory, "pad", 0))


def train(
    network: LabelledSeq2Seq, phases: Sequence[Phase[MaskedSentence]], inventory: Inventory, run: TrainingRun
) -> dict[str, float]:
    """Train in phases: in-domain pre-training, then with labels; a token of a fragment counts as one. Returns scores
    and epochs.
    """
    pad = pad_of(inventory)
    measure: Measure[MaskedSentence] = Measure(
        lambda chosen: loss(network, chosen, pad), lambda item: len(item.source), lambda item: len(item.target)
    )
    return train_phases(network, phases, measure, run)
