"""Train the reader that is shipped: `python tests/measure/train_reader.py BASE OUT ANNOTATION... --last ANNOTATION...
--late ANNOTATION... --latest ANNOTATION... --second ANNOTATION... --scorer SCORER`.

BASE is the folder of an encoder, of which the lowest `--layers` are kept. The reader learns from all annotations in
three passes, then from those of `--last`, which are written as people write, and `AGAIN` of the others in two slower
passes, in which an attribute is named with the thing that it is of. It is told nothing of what the rules read.

Then its markers learn: which of the pairs that rules and reader find in all these reviews are triplets, which of those
that have the aspect of the one and the opinion of the other, and which of the pairs of labelled spans. A pair whose
spans overlap those of a label, and whose edges the scorer does not accept, is one with other edges. The reader stands
still meanwhile, so what it says of each text is kept in a file of 220 kB a text. `other_` files are read by the rules
of any domain. At last reader and markers learn together, in rounds; from the rounds on that say so also by the reviews
of `--late` and `--latest`. In the last rounds `--second`, another annotation of some of these reviews, takes the place
of the first. Of several stages of a round, which begin alike, the mean of the weights goes on.

Killed, it goes on from OUT/checkpoints. The first pass fixes the precision of all. The files of annotation are those of
`pack_model.py`. OUT/reader is what is shipped.
"""

from __future__ import annotations

import argparse
import copy
import csv
import hashlib
import itertools
import math
import random
import re
import shutil
import time
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np
import torch
from decision import load_scorer
from numpy.typing import NDArray
from pack_model import (
    ReadReview,
    Row,
    is_right,
    make_example,
    read_all,
    read_annotation,
    read_texts,
    save_packed,
)
from torch import Tensor, nn
from torch.nn import functional
from torch.nn.utils.rnn import pad_sequence

from builder.core.records import POLARITIES, Element, Triplet
from builder.engine.reader import Recipe, make_reader
from builder.language.lexicon.folders import Folders
from builder.language.lexicon.resources import Lexicon
from builder.learning.checkpoint import Checkpoints, fingerprint
from builder.learning.devices import half_precision
from builder.learning.encode import Encoded, IntArray, Vocabulary, collate
from builder.learning.loop import course_of, optimizer_of, scope
from builder.learning.loop import train as learn
from builder.learning.task import EncoderTuning, Example, TaggerConfig, seed_of
from builder.models.encoder import EncoderFoundation, load_encoder
from builder.models.markers import PairMarkers
from builder.models.numpy_reader import open_numpy_reader
from builder.models.saved import load
from builder.models.tagger import Tagger, learnable, train_tagger
from builder.models.tagger_network import TaggerNetwork, Window
from builder.models.text_reading import Place, place_of

CONFIG = TaggerConfig(
    char_size=64, bigram_buckets=2048, bigram_size=32, width=256, layers=2, dropout=0.15, rate=1e-3, epochs=3,
    warmup=0.06, batch_chars=1920, window=480, max_gap=256, max_clauses=12, threads=2,
)  # fmt: skip
TUNING = EncoderTuning(rate=2e-4, layer_decay=0.9)
LAYER = re.compile(r"\blayers?\.(\d+)\.")
MIN_COUNT, AGAIN = 3, 2000
ATTRIBUTES = ("quality.", "price.", "service.")
"""Classes of aspects that are attributes of a thing."""
MARKER_LAYERS, MARKER_EPOCHS, MARKER_RATE = 6, 3, 1e-3
CROSSED, MOST, LONGEST = 2, 28, 300
"""Pairs of labelled spans that are no triplet, and pairs in all, that a review teaches; the most characters of one."""
CPU = torch.device("cpu")
AT_ONCE, TOGETHER = 500, 32
"""Reviews that rules and reader read at once, and texts whose layers are kept at once."""


def make_examples(rows: list[Row], *, owners: bool = False) -> list[Example]:
    """The reviews as the tagger reads them, in the script of the lexicons; with `owners` an attribute is named with
    the thing that it is of (湯的味道).
    """
    lexicon = make_reader(Recipe()).lexicon
    examples = [make_example(row, lexicon.variants) for row in rows]
    if not owners:
        return examples
    return [replace(e, triplets=tuple(name_owner(triplet, lexicon) for triplet in e.triplets)) for e in examples]


def name_owner(triplet: Triplet, lexicon: Lexicon) -> Triplet:
    """The triplet with the thing before its attribute in the aspect, where the full form has both."""
    core, full = triplet.aspect, triplet.aspect_full
    entry = lexicon.aspects.get(core.text)
    if entry is None or not entry.cls.startswith(ATTRIBUTES) or core.end != full.end or len(core.spans) > 1:
        return triplet
    before = full.text[: -len(core.text)].rstrip()
    thing = before.removesuffix("的")
    start = next((at for at in range(len(thing)) if thing[at:] in lexicon.aspects), None)
    if start is None:
        return triplet
    return replace(triplet, aspect=Element(full.text[start:], ((full.start + start, full.end),)))


def make_foundation(base: Path, layers: int, examples: list[Example], precision: str) -> EncoderFoundation:
    """The lowest layers of an encoder, beside characters that occur `MIN_COUNT` times."""
    loaded = load_encoder(str(base), replace(TUNING, precision=precision), "cpu")
    assert loaded.weights is not None, "a loaded encoder"
    number_of = {name: match and int(match[1]) for name in loaded.weights for match in [LAYER.search(name)]}
    kept = {name: tensor for name, tensor in loaded.weights.items() if (number_of[name] or 0) < layers}
    config = {**loaded.config, "num_hidden_layers": layers}
    config |= {"attention_probs_dropout_prob": 0.0}  # drawing it takes a sixth of the time
    vocabulary = Vocabulary.of((example.text for example in examples), MIN_COUNT)
    mark = f"{loaded.mark} {layers} layers"
    return replace(loaded, config=config, vocabulary=vocabulary, weights=kept, mark=mark)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("base", type=Path)
    parser.add_argument("out", type=Path)
    parser.add_argument("annotations", type=Path, nargs="+")
    parser.add_argument("--last", type=Path, nargs="+", required=True)
    parser.add_argument("--late", type=Path, nargs="+", required=True)
    parser.add_argument("--latest", type=Path, nargs="+", required=True)
    parser.add_argument("--second", type=Path, nargs="+", required=True)
    parser.add_argument("--texts", type=Path)
    parser.add_argument("--scorer", type=Path, required=True)
    parser.add_argument("--layers", type=int, default=12)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--threads", type=int, default=CONFIG.threads)
    parser.add_argument(
        "--precision", choices=("bf16", "fp32"), default="bf16", help="fp32 where the processor only emulates bfloat16"
    )
    options = parser.parse_args()
    csv.field_size_limit(10**9)
    texts = read_texts(options.texts)
    rows, last = (
        [row for path in paths for row in read_annotation(path, texts)] for paths in (options.annotations, options.last)
    )
    examples = make_examples(rows)
    print(f"{len(rows):,} reviews, {sum(len(example.text) for example in examples):,} characters", flush=True)
    first, config = options.out / "first", replace(CONFIG, threads=options.threads)
    if not (first / "config.json").is_file():
        foundation = make_foundation(options.base, options.layers, examples, options.precision)
        checkpoints = options.out / "checkpoints"
        save_packed(train_tagger(examples, [], config, options.seed, checkpoints, Report(), foundation), first)
    reader = load(first)
    assert isinstance(reader, Tagger) and isinstance(reader.foundation, EncoderFoundation)
    examples = make_examples([*last, *random.Random(options.seed).sample(rows, AGAIN)], owners=True)
    config = replace(config, rate=2e-4, warmup=0.1, epochs=2)
    foundation = replace(reader.foundation, tuning=replace(reader.foundation.tuning, rate=6e-5), mark=" last")
    checkpoints = options.out / "checkpoints-last"
    second = options.out / "second"
    if not (second / "config.json").is_file():
        save_packed(train_tagger(examples, [], config, options.seed, checkpoints, Report(), foundation, reader), second)
    tagger = load(second)
    assert isinstance(tagger, Tagger)
    paths = dict.fromkeys([*options.annotations, *options.last])
    gathered = gather_pairs({path: read_annotation(path, texts) for path in paths}, second, options.scorer)
    marked = [(text, pairs) for text, pairs in gathered if pairs]
    third = options.out / "third"
    if not (third / "config.json").is_file():
        checkpoints = options.out / "checkpoints-markers"
        save_packed(train_markers(tagger, marked, options.threads, options.seed, checkpoints), third)
    more = {
        name: {path: read_annotation(path, texts) for path in getattr(options, name)}
        for name in ("late", "latest", "second")
    }
    taught = learn_together(third, rows, last, more, dict(marked), options)
    shutil.copytree(taught, options.out / "reader", dirs_exist_ok=True)


# ---- Markers

LabelledPairs = list[tuple[Place, int]]
"""Places, and what is there: 0 for no triplet, from 1 on one of a polarity, `OTHER_EDGES`."""
OTHER_EDGES = 1 + len(POLARITIES)


@dataclass(frozen=True, slots=True, eq=False)
class MarkedText:
    """What markers see of a text's tokens, bits of bfloat16 [K, layers + 1, D]; from which token to which the spans of
    its pairs reach [n, 2, 2], and what they are [n].
    """

    states: NDArray[np.int16]
    spans: IntArray
    labels: IntArray


def gather_pairs(rows: dict[Path, list[Row]], folder: Path, scorer_path: Path) -> list[tuple[str, LabelledPairs]]:
    """The pairs of each review that teach markers, of some reviews none."""
    model, scorer = open_numpy_reader(folder), load_scorer(scorer_path, scorer_path.parent)
    out = []
    for path, own in rows.items():
        domain = "none" if path.name.startswith("other_") else "restaurant"
        reader = make_reader(Recipe(folders=Folders(domain=domain)))
        for begin in range(0, len(own), AT_ONCE):
            for read in read_all(own[begin : begin + AT_ONCE], model, reader):
                example = make_example(read.row, reader.lexicon.variants)
                if example.text == read.reading.view.text and len(example.text) <= LONGEST:
                    out.append((example.text, label_pairs(scorer, read, example)))
            print(f"{path.name}: {min(begin + AT_ONCE, len(own)):,} of {len(own):,} reviews read", flush=True)
    return out


def label_pairs(scorer: object, read: ReadReview, example: Example) -> LabelledPairs:
    """The labelled triplets, what rules and reader find, and some pairs of labelled spans that are no triplets."""
    gold = {place_of(triplet): 1 + POLARITIES.index(triplet.polarity) for triplet in example.triplets}
    labels = dict(gold)
    for triplet in find_pairs(read):
        place = place_of(triplet)
        if place in labels:
            continue
        turned = {1 + at: replace(triplet, polarity=label) for at, label in enumerate(POLARITIES)}
        right = [label for label, one in turned.items() if is_right(scorer, read, one)]
        touched = any(do_overlap(place, known) for known in gold)
        labels[place] = [*right, OTHER_EDGES][0] if touched else 0
    draw = random.Random(example.text)
    crossed = [(aspect, opinion) for aspect, _ in gold for _, opinion in gold]
    apart = [p for p in sorted(set(crossed)) if p not in labels and not any(do_overlap(p, known) for known in gold)]
    labels |= dict.fromkeys(draw.sample(apart, min(CROSSED, len(apart))), 0)
    pairs = sorted(labels.items())
    return draw.sample(pairs, min(MOST, len(pairs)))


def find_pairs(read: ReadReview) -> list[Triplet]:
    """What rules and reader find, and of both at one place the aspect of one with the opinion of the other."""
    proposed = [other for _, other in read.shown.proposals]
    mixed = [
        shape
        for own, other in itertools.product(read.ruled, proposed)
        if do_overlap(place_of(own), place_of(other))
        for shape in (
            replace(own, aspect=other.aspect, aspect_full=other.aspect_full, owner=None),
            replace(own, opinion=other.opinion, opinion_full=other.opinion_full),
        )
    ]
    return [*read.ruled, *proposed, *mixed]


def do_overlap(place: Place, other: Place) -> bool:
    """Whether aspects overlap, and opinions do."""
    return all(own[0] < its[1] and its[0] < own[1] for own, its in zip(place, other, strict=True))


def keep_states(network: TaggerNetwork, texts: Sequence[Encoded], path: Path) -> list[NDArray[np.int16]]:
    """What markers see of the tokens of each text, written to a file as it is read."""
    order = sorted(range(len(texts)), key=lambda number: len(texts[number]))
    parts: dict[int, tuple[int, tuple[int, ...]]] = {}
    with path.open("wb") as file:
        for begin in range(0, len(order), TOGETHER):
            chosen = order[begin : begin + TOGETHER]
            with torch.no_grad(), half_precision(network.trunk.tuning.precision, CPU):
                context = network.context(collate([texts[number] for number in chosen]))
            tokens = context.batch.tokens
            assert tokens is not None, "a tagger on a pretrained encoder"
            states = torch.stack([state.float().flatten(0, 1)[tokens.of_text] for state in context.states], 2)
            for number, own, seen in zip(chosen, states, tokens.seen, strict=True):
                bits = own[seen].to(torch.bfloat16).view(torch.int16).numpy()
                parts[number] = file.tell() // bits.itemsize, bits.shape
                file.write(bits.tobytes())
    whole = np.memmap(path, np.int16, "r")
    return [
        whole[begin : begin + math.prod(shape)].reshape(shape)
        for begin, shape in (parts[number] for number in range(len(texts)))
    ]


class MarkerLesson(nn.Module):
    """The markers of a network. Layers that the encoder taught learn slower."""

    def __init__(self, markers: PairMarkers, precision: str) -> None:
        super().__init__()
        self.markers, self.precision = markers, precision

    def rate_scales(self) -> dict[str, float]:
        return {name: 0.1 for name, _ in self.named_parameters() if ".layers." in name}

    def loss(self, texts: list[MarkedText]) -> Tensor:
        """Cross-entropy, the mean over pairs."""
        row, spans, labels = list_pairs(texts)
        own = [torch.from_numpy(np.array(text.states)).view(torch.bfloat16) for text in texts]
        seen = pad_sequence([torch.ones(len(states), dtype=torch.bool) for states in own], batch_first=True)
        states = pad_sequence(own, batch_first=True).float().unbind(2)
        with half_precision(self.precision, CPU):
            logits = self.markers(states, seen, row, spans)
        return functional.cross_entropy(logits.float(), labels)


def list_pairs(texts: Sequence[MarkedText | TaughtText]) -> tuple[Tensor, Tensor, Tensor]:
    """Of all pairs of some texts the row of their text [P], their spans [P, 2, 2] and what they are [P]."""
    row = torch.from_numpy(np.repeat(np.arange(len(texts)), [len(text.labels) for text in texts]))
    spans, labels = (
        torch.from_numpy(np.concatenate([getattr(text, name) for text in texts]).astype(np.int64))
        for name in ("spans", "labels")
    )
    return row, spans, labels


def mark_pairs(text: Encoded, pairs: LabelledPairs) -> tuple[IntArray, IntArray]:
    """From which token to which the spans of pairs reach [n, 2, 2], and what the pairs are [n]."""
    assert text.tokens is not None, "a tagger on a pretrained encoder"
    spans = text.tokens.stretches(np.array([place for place, _ in pairs], np.int64).reshape(-1, 2, 2))
    return spans.astype(np.int32), np.array([label for _, label in pairs], np.int32)


def train_markers(
    tagger: Tagger, marked: list[tuple[str, LabelledPairs]], threads: int, seed: int, checkpoints: Path
) -> Tagger:
    """The tagger with markers, which begin as the encoder's upper layers."""
    assert isinstance(tagger.foundation, EncoderFoundation)
    config = replace(tagger.config, marker_layers=MARKER_LAYERS)
    encode = tagger.foundation.make_encoder(config)
    texts = [encode(text) for text, _ in marked]
    with scope(threads, seed_of(seed, "markers")):
        network = TaggerNetwork(tagger.foundation, config)
        network.load_state_dict(tagger.network.state_dict(), strict=False)
        assert network.markers is not None
        upper: nn.Module = network.trunk.encoder.encoder.layer[-MARKER_LAYERS:]  # type: ignore[assignment, index, union-attr]
        network.markers.layers.load_state_dict(upper.state_dict())
        nn.init.normal_(network.markers.kind.weight, std=0.02)
        kept = checkpoints.with_name("states.bin")
        states = keep_states(network.eval(), texts, kept)
    items = [
        MarkedText(own, *mark_pairs(text, pairs)) for text, own, (_, pairs) in zip(texts, states, marked, strict=True)
    ]
    lesson = MarkerLesson(network.markers, tagger.foundation.tuning.precision)
    teach = replace(config, rate=MARKER_RATE, warmup=0.06, epochs=MARKER_EPOCHS, batch_chars=960, threads=threads)
    print(f"{len(items):,} reviews with {sum(len(item.labels) for item in items):,} pairs", flush=True)
    course = course_of(
        lesson, [len(text) for text in texts], lambda chosen: lesson.loss([items[i] for i in chosen]),
        lambda: 0.0, teach, seed, weigh=lambda chosen: sum(len(items[i].labels) for i in chosen), save_steps=500,
    )  # fmt: skip
    mark = fingerprint(f"markers {tagger.digest} {hashlib.sha256(repr(marked).encode()).hexdigest()}", teach, seed)
    learn(lesson, optimizer_of(lesson, teach), course, Checkpoints(checkpoints, mark), Report())
    network.eval()
    kept.unlink()
    return Tagger(network, tagger.foundation, config, tagger.threshold, tagger.facts)


# ---- Reader and markers together


@dataclass(frozen=True, slots=True)
class Stage:
    """A pass in which reader and markers learn together.

    `share` of the reviews of the first passes are in it, those of `--last`, `--late` and `--latest` so many times. If
    `second` is not 0, those of `--second` are in it so many times instead of the first annotation of the same reviews.
    `encoder`, `rate`, `layers` and `heads` are the highest rates of the encoder's top layer, of the reader's other
    parameters, of the markers' layers and of their other parameters; a pair weighs `weight` in the loss.
    """

    share: float
    encoder: float
    rate: float
    layers: float
    heads: float
    weight: float
    last: int = 2
    late: int = 0
    latest: int = 0
    second: int = 0


SLOW, FAST = Stage(0.85, 1e-4, 2e-4, 2e-4, 6e-4, 3), Stage(0.85, 3e-4, 4e-4, 3e-4, 8e-4, 3)
LATE = Stage(0.4, 2e-4, 3e-4, 2.5e-4, 7e-4, 3, last=1, late=3)
ALL = replace(LATE, share=0.6, late=1, latest=1)
MOSTLY = replace(ALL, share=0.2, second=2)
SECOND = replace(MOSTLY, share=0, last=0, late=0, latest=0)
ROUNDS = (
    (Stage(0.75, 6e-5, 2e-4, 1.5e-4, 5e-4, 1),), (SLOW,), (SLOW, FAST), (LATE, LATE, LATE), (ALL, ALL), (MOSTLY,),
    (SECOND, SECOND),
)  # fmt: skip
MEAN_WITH = {6: 4}
"""Round -> an earlier one, whose reader is in the mean of its stages: the last that knew the first annotation alone."""


@dataclass(frozen=True, slots=True, eq=False)
class TaughtText:
    """A text with its labels; from which token to which the spans of its pairs reach [n, 2, 2], what they are [n]."""

    window: Window
    spans: IntArray
    labels: IntArray


class WholeLesson(nn.Module):
    """A network with markers, all of which learns."""

    def __init__(self, network: TaggerNetwork, config: TaggerConfig, stage: Stage) -> None:
        super().__init__()
        self.network, self.stage, self.rate = network, stage, config.rate

    def rate_scales(self) -> dict[str, float]:
        names = [name for name, _ in self.named_parameters() if name.startswith("network.markers.")]
        return {name: (self.stage.layers if ".layers." in name else self.stage.heads) / self.rate for name in names}

    def loss(self, texts: list[TaughtText]) -> Tensor:
        """That of spans and pairs, and the cross-entropy of what markers say of pairs, both summed, per text."""
        context = self.network.context(collate([text.window.text for text in texts]))
        row, spans, labels = list_pairs(texts)
        with half_precision(self.network.trunk.tuning.precision, CPU):
            logits = self.network.mark(context, row, spans)
        marked = functional.cross_entropy(logits.float(), labels, reduction="sum") / len(texts)
        return self.network.loss_in(context, [text.window for text in texts]) + self.stage.weight * marked


def learn_together(
    folder: Path,
    rows: list[Row],
    last: list[Row],
    more: dict[str, dict[Path, list[Row]]],
    pairs: dict[str, LabelledPairs],
    options: argparse.Namespace,
) -> Path:
    """The tagger of a folder after all rounds: the folder of what the last one leaves. `more`: the reviews that later
    rounds add, by the name of the field of `Stage` that says how many times.
    """
    for number, stages in enumerate(ROUNDS):
        before, folder = folder, options.out / f"together-{number}"
        if (folder / "config.json").is_file():
            continue
        for name, own in more.items():
            if any(getattr(stage, name) for stage in stages):
                pairs |= dict(gather_pairs(own, before, options.scorer))
        taught = []
        for at, stage in enumerate(stages):
            tagger, seed = load(before), options.seed + 10 * number + at
            assert isinstance(tagger, Tagger)
            examples = make_examples(choose_rows(rows, last, more, stage, random.Random(seed)), owners=True)
            taught.append(
                train_together(tagger, examples, pairs, stage, seed, options.out / f"checkpoints-{number}-{at}")
            )
        if number in MEAN_WITH:
            earlier = load(options.out / f"together-{MEAN_WITH[number]}")
            assert isinstance(earlier, Tagger)
            taught.append(earlier)
        save_packed(average(taught), folder)
    return folder


def choose_rows(
    rows: list[Row], last: list[Row], more: dict[str, dict[Path, list[Row]]], stage: Stage, draw: random.Random
) -> list[Row]:
    """The reviews of a stage, each as often as it teaches there."""
    second = [row for part in more["second"].values() for row in part] * stage.second
    again = {row["id"] for row in second}
    times = [(row, int(draw.random() < stage.share)) for row in rows] + [(row, stage.last) for row in last]
    for name in ("late", "latest"):
        times += [(row, getattr(stage, name)) for part in more[name].values() for row in part]
    return [row for row, count in times if row["id"] not in again for _ in range(count)] + second


def average(taggers: Sequence[Tagger]) -> Tagger:
    """The first of some taggers, with the mean of the weights of all."""
    network = copy.deepcopy(taggers[0].network)
    states = [tagger.network.state_dict() for tagger in taggers]
    mean = {
        name: torch.stack([own[name] for own in states]).mean(0) if weight.is_floating_point() else weight
        for name, weight in states[0].items()
    }
    network.load_state_dict(mean)
    return replace(taggers[0], network=network)


def train_together(
    tagger: Tagger, examples: Sequence[Example], pairs: dict[str, LabelledPairs], stage: Stage, seed: int, out: Path
) -> Tagger:
    """The tagger after a pass over those examples of which there are pairs."""
    assert isinstance(tagger.foundation, EncoderFoundation)
    config = replace(tagger.config, rate=stage.rate, warmup=0.06, epochs=1, batch_chars=1440)
    foundation = replace(tagger.foundation, tuning=replace(tagger.foundation.tuning, rate=stage.encoder))
    encode = foundation.make_encoder(config)
    texts = [
        TaughtText(window, *mark_pairs(window.text, pairs[example.text]))
        for example in examples
        if example.text in pairs
        for window in learnable(example, encode, config)[0]
    ]
    with scope(config.threads, seed_of(seed, "together")):
        network = TaggerNetwork(foundation, config)
        network.load_state_dict(tagger.network.state_dict())
    lesson = WholeLesson(network, config, stage)
    course = course_of(
        lesson, [len(text.window.text) for text in texts], lambda chosen: lesson.loss([texts[i] for i in chosen]),
        lambda: 0.0, config, seed, save_steps=500,
    )  # fmt: skip
    taught = [(example.text, pairs[example.text]) for example in examples if example.text in pairs]
    mark = fingerprint(f"{stage} on {tagger.digest} {hashlib.sha256(repr(taught).encode()).hexdigest()}", config, seed)
    learn(lesson, optimizer_of(lesson, config), course, Checkpoints(out, mark), Report())
    network.eval()
    return replace(tagger, network=network)


@dataclass(slots=True)
class Report:
    """Prints once a minute how far a training is."""

    began: float = field(default_factory=time.monotonic)
    said: float = 0.0

    def __call__(self, done: int, total: int, note: str) -> None:
        if time.monotonic() - self.said > 60:
            self.said = time.monotonic()
            print(f"{done / total:.1%} after {(self.said - self.began) / 60:.0f} min {note}", flush=True)


if __name__ == "__main__":
    main()
