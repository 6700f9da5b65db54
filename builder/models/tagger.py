"""The embedded extractor: training from rule triplets, prediction, and what is kept of it.

A text longer than the config's window is read in pieces of whole sentences that overlap (builder.learning.encode). In
training they do not; a triplet that lies across a cut, a span longer than `max_span` and a gap longer than `max_gap`
cannot be learnt: `Tagger.facts` counts them.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field, replace
from functools import cached_property
from itertools import pairwise
from pathlib import Path

import numpy as np
import torch

from builder.core.edges import overlap
from builder.core.errors import ModelError
from builder.core.records import POLARITIES, Element, Polarity, Span, Triplet
from builder.core.wording import counted
from builder.learning.checkpoint import Checkpoints, fingerprint, tensor_digest
from builder.learning.devices import device_of, in_parts
from builder.learning.encode import Encoded, TextEncoder, batches, collate, windows
from builder.learning.loop import course_of, optimizer_of, scope
from builder.learning.loop import train as learn
from builder.learning.processes import ALONE, Team
from builder.learning.task import VALENCE, Example, Progress, TaggerConfig, seed_of
from builder.models.network import CharacterFoundation, Foundation, Spans, TextContext
from builder.models.tagger_network import ASPECT, OPINION, Candidates, TaggerNetwork, Window

THRESHOLDS = tuple(round(0.2 + 0.05 * i, 2) for i in range(13))
_SAVE_STEPS = 500
"""Steps of an epoch after which a checkpoint is written."""
LONGEST_GAP = 6
"""Characters that an opinion's parts may lie apart: parts of two opinions are joined over more."""
Proposal = tuple[float, Triplet]
Place = tuple[Span, Span]
"""The stretches of an aspect and of an opinion."""
LIMIT = 12.0
"""Log-odds beyond are taken for this."""
Key = tuple[tuple[Span, ...], tuple[Span, ...], Polarity]


@dataclass(frozen=True, slots=True)
class PairOdds:
    """What a tagger says of two places: the log-odds that the first is an aspect, that the second is an opinion, and
    that they belong together; and the logarithms of the polarities' probabilities.
    """

    aspect: float
    opinion: float
    pair: float
    polarities: tuple[float, ...]


PlaceOdds = tuple[int, Place, PairOdds]
"""Of a text, by its number, the odds at a place."""
TextProposal = tuple[int, Proposal]


@dataclass(frozen=True, slots=True)
class TextReading:
    """What a tagger says of a text: proposals, and the odds at their places and at all that it was asked about."""

    proposals: list[Proposal]
    odds: dict[Place, PairOdds]


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
        settings = {"config": asdict(self.config), **self.foundation.settings, "threshold": self.threshold}
        return tensor_digest(self.network.state_dict(), json.dumps(settings, sort_keys=True))[:16]

    def predict(self, texts: Sequence[str], progress: Progress | None = None) -> list[tuple[Triplet, ...]]:
        """The triplets of each text in text order, none of them clashing; `confidence` is the probability of pair and
        polarity.
        """
        proposals_by_text = propose(self.network, self.foundation, self.config, texts, self.threshold, progress)
        return [settle([triplet for _, triplet in proposals]) for proposals in proposals_by_text]


def propose(
    network: TaggerNetwork,
    foundation: Foundation,
    config: TaggerConfig,
    texts: Sequence[str],
    floor: float,
    progress: Progress | None = None,
) -> list[list[Proposal]]:
    """Per text every triplet whose pair probability is at least `floor`, clashing ones included, behind that
    probability.
    """
    items = [Example("", text, ()) for text in texts]
    return [read.proposals for read in read_texts(network, foundation, config, items, floor, progress)]


def read_texts(
    network: TaggerNetwork,
    foundation: Foundation,
    config: TaggerConfig,
    items: Sequence[Example],
    floor: float,
    progress: Progress | None = None,
) -> list[TextReading]:
    """What is proposed of each item's text, as `propose` has it, and the odds at the places of that and of the item's
    own triplets. A triplet too long for a window has none.
    """
    encoder, device = foundation.make_encoder(config), foundation.device
    shared = config.window // 4
    pieces = [(i, piece) for i, item in enumerate(items) for piece in windows(item.text, config.window, shared)]
    encoded = [encoder(items[i].text[start:end]) for i, (start, end) in pieces]
    places = [sorted({place_of(triplet) for triplet in item.triplets}) for item in items]
    out = [TextReading([], {}) for _ in items]
    done, total = 0, sum(len(text) for text in encoded)
    network.to(device).eval()

    def decode(chosen: list[int]) -> tuple[list[PlaceOdds], list[TextProposal]]:
        batch = [_Piece(encoded[i], items[pieces[i][0]].text, *pieces[i], places[pieces[i][0]]) for i in chosen]
        return _decode(network, batch, floor)

    with scope(config.threads, device=device), torch.inference_mode():
        for chosen, (known, proposed) in in_parts(batches([len(text) for text in encoded], config.batch_chars), decode):
            for row, place, odds in known:
                out[row].odds[place] = max(odds, out[row].odds.get(place, odds), key=lambda one: one.pair)
            for row, proposal in proposed:
                out[row].proposals.append(proposal)
            done += sum(len(encoded[i]) for i in chosen)
            if progress:
                progress(done, total, "tagging")
    several = {i for (i, _), (j, _) in pairwise(pieces) if i == j}
    return [replace(own, proposals=_best_of_each(own.proposals)) if i in several else own for i, own in enumerate(out)]


def place_of(triplet: Triplet) -> Place:
    """From where to where aspect and opinion reach, all that belongs to them included."""
    aspect, opinion = triplet.aspect_full, triplet.opinion_full
    return (aspect.start, aspect.end), (opinion.start, opinion.end)


def _best_of_each(proposals: Sequence[Proposal]) -> list[Proposal]:
    """Of what windows that overlap both propose the surer one."""
    best: dict[object, Proposal] = {}
    for proposal in proposals:
        key = proposal[1].aspect.spans, proposal[1].opinion.spans
        best[key] = max(proposal, best.get(key, proposal), key=lambda one: one[0])
    return list(best.values())


@dataclass(frozen=True, slots=True, eq=False)
class _Piece:
    """A window of a text, encoded, and the places in the text that are asked about."""

    encoded: Encoded
    text: str
    row: int
    span: Span
    asked: Sequence[Place]


def _decode(
    network: TaggerNetwork, pieces: Sequence[_Piece], floor: float
) -> tuple[list[PlaceOdds], list[TextProposal]]:
    """The odds at the places asked about and at those of all that is proposed, and that."""
    batch = collate([piece.encoded for piece in pieces]).to(device_of(network))
    context = network.context(batch)
    table = network.table(context.hidden, batch.mask)
    place_odds, proposals = list[PlaceOdds](), list[TextProposal]()
    rows, spans, places = _asked(pieces)
    if rows:
        row = torch.tensor(rows, device=table.device)
        edges = torch.tensor(spans, device=table.device)
        aspects, opinions = (Spans(row, edges[:, layer, 0], edges[:, layer, 1]) for layer in (ASPECT, OPINION))
        known = _odds(table, aspects, opinions, *network.score_pairs(context, table, aspects, opinions))
        place_odds += [(pieces[at].row, place, odds) for at, place, odds in zip(rows, places, known, strict=True)]
    candidates = network.candidates(context, table)
    keep = (candidates.pair.sigmoid() >= floor).nonzero().squeeze(-1)
    if not len(keep):
        return place_odds, proposals
    aspects, opinions = (
        spans.at(index[keep])
        for spans, index in zip((candidates.aspects, candidates.opinions), candidates.index, strict=True)
    )
    proposed = _odds(table, aspects, opinions, candidates.pair[keep], candidates.polarity[keep])
    elements = [
        _elements(network, context, candidates, layer, candidates.index[layer][keep], pieces)
        for layer in (ASPECT, OPINION)
    ]
    chance = candidates.pair[keep].sigmoid()
    polarity = candidates.polarity[keep].softmax(-1).max(-1)
    numbers = zip(
        aspects.row.tolist(),
        proposed,
        chance.tolist(),
        polarity.values.tolist(),
        polarity.indices.tolist(),
        strict=True,
    )
    for (row, odds, pair, sure, index), (aspect, aspect_full), (opinion, opinion_full) in zip(
        numbers, *elements, strict=True
    ):
        named = POLARITIES[index]
        certainty = round(pair * sure, 4)
        triplet = Triplet(
            aspect, aspect_full, opinion, opinion_full, named, VALENCE[named], source="tagger", confidence=certainty
        )
        place_odds.append((pieces[row].row, place_of(triplet), odds))
        proposals.append((pieces[row].row, (pair, triplet)))
    return place_odds, proposals


def _asked(pieces: Sequence[_Piece]) -> tuple[list[int], list[list[Span]], list[Place]]:
    """The places that lie in a window: its number, the spans in it, and the place."""
    rows, spans, places = list[int](), list[list[Span]](), list[Place]()
    for row, piece in enumerate(pieces):
        start, end = piece.span
        for place in piece.asked:
            if all(start <= first and past <= end for first, past in place):
                rows.append(row)
                spans.append([(first - start, past - start) for first, past in place])
                places.append(place)
    return rows, spans, places


def _odds(
    table: torch.Tensor, aspects: Spans, opinions: Spans, pair: torch.Tensor, polarity: torch.Tensor
) -> list[PairOdds]:
    """The odds of pairs, from the logits of spans, of pairs [P] and of polarities [P, 3]."""
    spans = [table[one.row, layer, one.start, one.end - 1] for layer, one in enumerate((aspects, opinions))]
    logits = torch.stack([*spans, pair], 1).clamp(-LIMIT, LIMIT)
    shares = polarity.log_softmax(-1)
    return [
        PairOdds(aspect, opinion, both, tuple(rest))
        for (aspect, opinion, both), rest in zip(logits.tolist(), shares.tolist(), strict=True)
    ]


def _elements(
    network: TaggerNetwork,
    context: TextContext,
    candidates: Candidates,
    layer: int,
    index: torch.Tensor,
    pieces: Sequence[_Piece],
) -> list[tuple[Element, Element]]:
    """Core and full element of each chosen span, in offsets of the text; a torn core is made whole."""
    used, back = torch.unique(index, return_inverse=True)
    spans: Spans = (candidates.aspects, candidates.opinions)[layer].at(used)
    bits = (network.cores(context, spans, layer) > 0).tolist()
    made = []
    for row, start, end, core in zip(spans.row.tolist(), spans.start.tolist(), spans.end.tolist(), bits, strict=True):
        text, shift = pieces[row].text, pieces[row].span[0]
        full = (start + shift, end + shift)
        parts = runs(core[: end - start], full)
        made.append((Element.at(text, [full] if is_torn(parts, layer) else parts), Element.at(text, [full])))
    return [made[i] for i in back.tolist()]


def runs(bits: Sequence[bool], full: Span) -> list[Span]:
    """The stretches of set bits as spans of the text; the full span where no bit is set."""
    out: list[Span] = []
    for i, bit in enumerate(bits, full[0]):
        if bit and out and out[-1][1] == i:
            out[-1] = out[-1][0], i + 1
        elif bit:
            out.append((i, i + 1))
    return out or [full]


def is_torn(parts: Sequence[Span], layer: int) -> bool:
    """Whether the parts of an element lie apart as no aspect does (待人 of 接待的人), or further than an opinion's."""
    gaps = [behind[0] - before[1] for before, behind in pairwise(parts)]
    return bool(gaps) if layer == ASPECT else any(gap > LONGEST_GAP for gap in gaps)


def settle(triplets: Sequence[Triplet]) -> tuple[Triplet, ...]:
    """Of triplets whose aspects overlap and whose opinions overlap the most confident is kept; in text order."""
    kept: list[Triplet] = []
    for triplet in sorted(triplets, key=lambda t: (-(t.confidence or 0.0), t.aspect_full.spans, t.opinion_full.spans)):
        if not any(
            overlap(triplet.aspect_full, t.aspect_full) and overlap(triplet.opinion_full, t.opinion_full) for t in kept
        ):
            kept.append(triplet)
    return tuple(sorted(kept, key=in_place))


def in_place(triplet: Triplet) -> tuple[int, int, Key]:
    """Sorts as the rules do: in text order of the opinions. Scorers that match one to one in order of appearance
    depend on it.
    """
    return triplet.opinion.start, triplet.aspect.start, triplet.key


def train_tagger(
    train: Sequence[Example],
    valid: Sequence[Example],
    config: TaggerConfig,
    seed: int,
    checkpoints: Path,
    progress: Progress | None = None,
    foundation: Foundation | None = None,
    team: Team = ALONE,
    start: Tagger | None = None,
) -> Tagger:
    """Train from the base weights of `seed`, or on from those of `start`; the epoch and the threshold with the best
    exact micro triplet F1 on `valid` win. Of a `team` every process is given the same and returns the same.

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

    texts = [example.text for example in valid]

    def reach() -> tuple[float, float]:
        if not texts:
            return 0.5, 0.0
        proposed = team.map(lambda own: propose(network, base, config, own, THRESHOLDS[0]), texts)
        return best_threshold(proposed, gold)

    def loss(chosen: list[int]) -> torch.Tensor:
        return network.loss([items[i] for i in chosen])

    mark = f"{base.mark} on {start.digest}" if start else base.mark
    unique = identify_training(train, valid, config, seed, mark)
    lengths = [len(item.text) for item in items]
    course = course_of(network, lengths, loss, lambda: reach()[1], config, seed, team=team, save_steps=_SAVE_STEPS)
    place = Checkpoints(checkpoints, unique, main=team.main, meet=team.meet)
    fitted = learn(network, optimizer_of(network, config), course, place, progress)
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
