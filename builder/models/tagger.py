"""The embedded extractor: training from rule triplets, prediction, and what is kept of it.

A text longer than the config's window is read in pieces of whole sentences that overlap (builder.learning.encode). In
training they do not; a triplet that lies across a cut, a span longer than `max_span` and a gap longer than `max_gap`
cannot be learnt: `Tagger.facts` counts them.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path

import numpy as np
import torch

from builder.core.errors import ModelError
from builder.core.records import POLARITIES, Element, Span, Triplet
from builder.core.wording import counted
from builder.learning.checkpoint import Checkpoints, fingerprint, tensor_digest
from builder.learning.devices import answer_batches, device_of, place
from builder.learning.encode import TextEncoder, batches, collate, windows
from builder.learning.loop import course_of, optimizer_of, scope
from builder.learning.loop import train as learn
from builder.learning.task import Example, Progress, TaggerConfig, seed_of
from builder.models.network import CharacterFoundation, Foundation, Spans, TextContext
from builder.models.tagger_network import TaggerNetwork, Window
from builder.models.text_reading import (
    ASPECT,
    LIMIT,
    OPINION,
    Floats,
    FoundPairs,
    Key,
    OddsTable,
    Piece,
    Proposal,
    Scores,
    TextReading,
    add_scores,
    cut_pieces,
    joined,
    settle,
    settled,
)

THRESHOLDS = tuple(round(0.2 + 0.05 * i, 2) for i in range(13))
_SAVE_STEPS = 500
"""Steps of an epoch after which a checkpoint is written."""


@dataclass(frozen=True, eq=False)
class Tagger:
    """A trained extractor. `threshold` is the pair probability from which a triplet is reported; `facts` says how it
    was trained.
    """

    network: TaggerNetwork
    foundation: Foundation
    config: TaggerConfig
    threshold: float = 0.5
    facts: dict[str, float] = field(default_factory=dict)

    @cached_property
    def digest(self) -> str:
        settings = {"config": self.config.kept, **self.foundation.settings, "threshold": self.threshold}
        return tensor_digest(self.network.state_dict(), json.dumps(settings, sort_keys=True))[:16]

    def predict(self, texts: Sequence[str], progress: Progress | None = None) -> list[tuple[Triplet, ...]]:
        """The triplets of each text in text order, none of them clashing; `confidence` is the probability of pair and
        polarity.
        """
        return settled(self.read([Example("", text, ()) for text in texts], self.threshold, progress))

    def read(self, items: Sequence[Example], floor: float, progress: Progress | None = None) -> list[TextReading]:
        """What is proposed of each item's text, as builder.models.text_reading.TextReader has it: every triplet whose
        pair probability is at least `floor`, clashing ones included, and the odds at the places of that and of the
        item's own triplets.
        """
        network, config, device = self.network, self.config, self.foundation.device
        pieces = cut_pieces(items, self.foundation.make_encoder(config), config.window)
        lengths = [len(piece.encoded) for piece in pieces]
        out = [TextReading([], {}) for _ in items]
        network.to(device).eval()
        with scope(config.threads, device=device), torch.inference_mode():
            for chosen, scores in answer_batches(
                batches(lengths, config.batch_chars),
                lambda chosen: _score(network, [pieces[i] for i in chosen], floor),
                lengths,
                progress,
                "tagging",
            ):
                add_scores(out, [pieces[i] for i in chosen], scores)
        return joined(out, pieces)


def _score(network: TaggerNetwork, pieces: Sequence[Piece], floor: float) -> Scores:
    """What the network says of the places that are asked about, and the pairs of a probability of `floor` and more."""
    batch = place(collate([piece.encoded for piece in pieces]), device_of(network))
    context = network.context(batch)
    table = network.table(context.hidden, batch.mask)
    known = OddsTable(*(np.empty((0, size), np.float32) for size in (3, 3, 0)))
    if any(piece.asked for piece in pieces):
        counts = torch.tensor([len(piece.asked) for piece in pieces])
        row = torch.repeat_interleave(torch.arange(len(pieces)), counts).to(table.device)
        edges = torch.from_numpy(np.concatenate([piece.asked_spans for piece in pieces])).to(table.device)
        aspects, opinions = (Spans(row, edges[:, layer, 0], edges[:, layer, 1]) for layer in (ASPECT, OPINION))
        marked = _mark(network, context, pieces, aspects, opinions)
        known = _odds(table, aspects, opinions, *network.score_pairs(context, table, aspects, opinions), marked)
    candidates = network.candidates(context, table)
    keep = (candidates.pair.sigmoid() >= floor).nonzero().squeeze(-1)
    if not len(keep):
        return known, None
    indices = [index[keep] for index in candidates.index]
    aspects, opinions = candidates.aspects.at(indices[ASPECT]), candidates.opinions.at(indices[OPINION])
    sure = candidates.polarity[keep].softmax(-1).max(-1)
    cores = [
        _core_bits(network, context, (candidates.aspects, candidates.opinions)[layer], layer, indices[layer])
        for layer in (ASPECT, OPINION)
    ]
    edges = _edges(aspects, opinions)
    marked = _mark(network, context, pieces, aspects, opinions)
    return known, FoundPairs(
        aspects.row.numpy(force=True),
        edges.numpy(force=True),
        _odds(table, aspects, opinions, candidates.pair[keep], candidates.polarity[keep], marked),
        candidates.pair[keep].sigmoid().numpy(force=True),
        sure.indices.numpy(force=True),
        sure.values.numpy(force=True),
        torch.stack(cores, 1).numpy(force=True),
    )


def _odds(
    table: torch.Tensor, aspects: Spans, opinions: Spans, pair: torch.Tensor, polarity: torch.Tensor, marked: Floats
) -> OddsTable:
    """The odds of pairs, from the logits of spans, of pairs [P] and of polarities [P, 3], and what markers say."""
    spans = [table[one.row, layer, one.start, one.end - 1] for layer, one in enumerate((aspects, opinions))]
    logits = torch.stack([*spans, pair], 1).clamp(-LIMIT, LIMIT)
    return OddsTable(logits.numpy(force=True), polarity.log_softmax(-1).numpy(force=True), marked)


def _mark(
    network: TaggerNetwork, context: TextContext, pieces: Sequence[Piece], aspects: Spans, opinions: Spans
) -> Floats:
    """The logarithms of the markers' probabilities for pairs, [P, 4]; [P, 0] without markers."""
    rows = aspects.row.numpy(force=True)
    if network.markers is None:
        return np.empty((len(rows), 0), np.float32)
    spans = _edges(aspects, opinions).numpy(force=True).copy()
    for number, piece in enumerate(pieces):
        tokens, own = piece.encoded.tokens, rows == number
        assert tokens is not None, "a tagger on a pretrained encoder"
        spans[own] = tokens.stretches(spans[own])
    at = torch.from_numpy(spans).to(context.hidden.device)
    return network.mark(context, aspects.row, at).log_softmax(-1).numpy(force=True)


def _edges(aspects: Spans, opinions: Spans) -> torch.Tensor:
    """Where pairs begin and end, [P, layer, (start, end)]."""
    return torch.stack([torch.stack([one.start, one.end], -1) for one in (aspects, opinions)], 1)


def _core_bits(
    network: TaggerNetwork, context: TextContext, spans: Spans, layer: int, index: torch.Tensor
) -> torch.Tensor:
    """Whether the characters of each chosen span are of its core [K, longest]."""
    used, back = torch.unique(index, return_inverse=True)
    bits: torch.Tensor = network.cores(context, spans.at(used), layer) > 0
    return bits[back]


def train_tagger(
    train: Sequence[Example],
    valid: Sequence[Example],
    config: TaggerConfig,
    seed: int,
    checkpoints: Path,
    progress: Progress | None = None,
    foundation: Foundation | None = None,
    start: Tagger | None = None,
) -> Tagger:
    """Train from the base weights of `seed`, or on from those of `start`; the epoch and the threshold with the best
    exact micro triplet F1 on `valid` win.

    Without `valid` the last epoch is taken at threshold 0.5. Without a `foundation` the tagger stands on the
    characters of its training texts. Raises ModelError where there is nothing to learn.
    """
    if not any(example.triplets for example in train):
        raise ModelError(
            f"no triplet in {counted(len(train), 'training example')}",
            where="tagger",
            fix="train on reviews with triplets",
        )
    base = foundation or CharacterFoundation.of((example.text for example in train), config.min_count)
    with scope(config.threads, seed_of(seed, "base")):
        network = TaggerNetwork(base, config)
        if start is None:
            base.begin(network.trunk, seed)
        else:
            network.load_state_dict(start.network.state_dict())
    network.to(base.device)
    encoder = base.make_encoder(config)
    cut = [learnable(example, encoder, config) for example in train]
    items = [window for pieces, _ in cut for window in pieces]
    gold = [{t.key for t in example.triplets} for example in valid]
    asked = [Example("", example.text, ()) for example in valid]

    def reach() -> tuple[float, float]:
        if not asked:
            return 0.5, 0.0
        readings = Tagger(network, base, config).read(asked, THRESHOLDS[0])
        return best_threshold([reading.proposals for reading in readings], gold)

    def loss(chosen: list[int]) -> torch.Tensor:
        return network.loss([items[i] for i in chosen])

    mark = f"{base.mark} on {start.digest}" if start else base.mark
    unique = identify_training(train, valid, config, seed, mark)
    lengths = [len(item.text) for item in items]
    course = course_of(network, lengths, loss, lambda: reach()[1], config, seed, save_steps=_SAVE_STEPS)
    fitted = learn(network, optimizer_of(network, config), course, Checkpoints(checkpoints, unique), progress)
    facts = {
        "valid_f1": fitted.score,
        "epoch": fitted.epoch,
        "examples": len(train),
        "windows": len(items),
        "triplets": sum(len(example.triplets) for example in train),
        "triplets_lost": sum(lost for _, lost in cut),
    }
    return Tagger(network, base, config, reach()[0], facts)


def identify_training(
    train: Sequence[Example], valid: Sequence[Example], config: TaggerConfig, seed: int, mark: str
) -> str:
    """The fingerprint of a tagger's training on a foundation of this `mark`."""
    data = ((len(part), ((item.text, [(t, "") for t in item.triplets]) for item in part)) for part in (train, valid))
    return fingerprint(f"tagger{mark}", config, seed, *data)


def learnable(example: Example, encoder: TextEncoder, config: TaggerConfig) -> tuple[list[Window], int]:
    """The windows of an example with their gold, and how many of its triplets no window can hold."""
    out, held = [], 0
    for start, end in windows(example.text, config.window):
        inside = [t for t in example.triplets if _fits(t, start, end, config)]
        pairs = {_pair(t, start): t for t in reversed(inside)}
        cores = {
            (layer, full.start - start, full.end - start): (core.spans, full)
            for t in reversed(inside)
            for layer, (core, full) in enumerate(((t.aspect, t.aspect_full), (t.opinion, t.opinion_full)))
        }
        rows = [[*key, *_bits(spans, full, config.max_span)] for key, (spans, full) in sorted(cores.items())]
        gold = [[*key, POLARITIES.index(t.polarity)] for key, t in sorted(pairs.items())]
        held += len(pairs)
        bits = np.array(rows, np.int32).reshape(-1, 3 + config.max_span)
        out.append(Window(encoder(example.text[start:end]), np.array(gold, np.int32).reshape(-1, 5), bits))
    return out, len(example.triplets) - held


def _fits(triplet: Triplet, start: int, end: int, config: TaggerConfig) -> bool:
    aspect, opinion = triplet.aspect_full, triplet.opinion_full
    held = all(start <= e.start and e.end <= end and e.end - e.start <= config.max_span for e in (aspect, opinion))
    return held and max(aspect.start - opinion.end, opinion.start - aspect.end) <= config.max_gap


def _pair(triplet: Triplet, shift: int) -> tuple[int, int, int, int]:
    aspect, opinion = triplet.aspect_full, triplet.opinion_full
    return aspect.start - shift, aspect.end - shift, opinion.start - shift, opinion.end - shift


def _bits(core: Sequence[Span], full: Element, longest: int) -> list[int]:
    return [int(any(start <= i < end for start, end in core)) for i in range(full.start, full.start + longest)]


def best_threshold(proposed: Sequence[Sequence[Proposal]], gold: Sequence[set[Key]]) -> tuple[float, float]:
    """The threshold with the best exact micro triplet F1, and that F1; the lowest of equals."""
    scored = []
    for threshold in THRESHOLDS:
        hits = predicted = 0
        for proposals, wanted in zip(proposed, gold, strict=True):
            keys = {t.key for t in settle([t for chance, t in proposals if chance >= threshold])}
            hits, predicted = hits + len(keys & wanted), predicted + len(keys)
        scored.append((2 * hits / max(1, predicted + sum(map(len, gold))), threshold))
    f1, threshold = max(scored, key=lambda pair: (pair[0], -pair[1]))
    return threshold, f1
