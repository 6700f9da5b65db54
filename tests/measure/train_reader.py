"""Train the reader that is shipped: `python tests/measure/train_reader.py BASE OUT ANNOTATION... --last ANNOTATION...
--scorer SCORER`.

BASE is the folder of an encoder, of which the lowest `--layers` are kept. The reader learns from all annotations in
three passes, then from those of `--last`, which are written as people write, and `AGAIN` of the others in two slower
passes, in which an attribute is named with the thing that it is of. It is told nothing of what the rules read.

Then its markers learn: which of the pairs that rules and reader find in all these reviews are triplets, and which of
the pairs of labelled spans. The reader stands still meanwhile. A pair is right whose spans overlap those of a label; a
right one whose edges the scorer does not accept teaches nothing. `other_` files are read by the rules of any domain.

Killed, it goes on from OUT/checkpoints. The files of annotation are those of `pack_model.py`. OUT/reader is what is
shipped.
"""

from __future__ import annotations

import argparse
import csv
import hashlib
import random
import re
import time
from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np
import torch
from decision import load_scorer
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

from builder.core.records import POLARITIES, Element, Triplet
from builder.engine.reader import Recipe, make_reader
from builder.language.lexicon.folders import Folders
from builder.language.lexicon.resources import Lexicon
from builder.learning.checkpoint import Checkpoints, fingerprint
from builder.learning.encode import Encoded, IntArray, TextEncoder, Vocabulary, collate
from builder.learning.loop import course_of, optimizer_of, scope
from builder.learning.loop import train as learn
from builder.learning.task import EncoderTuning, Example, TaggerConfig, seed_of
from builder.models.encoder import EncoderFoundation, load_encoder
from builder.models.numpy_reader import open_numpy_reader
from builder.models.saved import load
from builder.models.tagger import Tagger, train_tagger
from builder.models.tagger_network import TaggerNetwork
from builder.models.text_reading import Place, place_of

CONFIG = TaggerConfig(
    char_size=64, bigram_buckets=2048, bigram_size=32, width=256, layers=2, dropout=0.15, rate=1e-3, epochs=3,
    warmup=0.06, batch_chars=1920, window=480, max_gap=256, max_clauses=12, threads=2,
)  # fmt: skip
TUNING = EncoderTuning(rate=2e-4, layer_decay=0.9, precision="bf16")
LAYER = re.compile(r"\blayers?\.(\d+)\.")
MIN_COUNT, AGAIN = 3, 2000
ATTRIBUTES = ("quality.", "price.", "service.")
"""Classes of aspects that are attributes of a thing."""
MARKER_LAYERS, MARKER_EPOCHS, MARKER_RATE = 6, 2, 1e-3
CROSSED, MOST, LONGEST = 4, 20, 300
"""Pairs of labelled spans that are no triplet, and pairs in all, that a review teaches; the most characters of one."""
AT_ONCE = 500
"""Reviews that are read at once."""


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


def make_foundation(base: Path, layers: int, examples: list[Example]) -> EncoderFoundation:
    """The lowest layers of an encoder, beside characters that occur `MIN_COUNT` times."""
    loaded = load_encoder(str(base), TUNING, "cpu")
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
    parser.add_argument("--texts", type=Path)
    parser.add_argument("--scorer", type=Path, required=True)
    parser.add_argument("--layers", type=int, default=12)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--threads", type=int, default=CONFIG.threads)
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
        foundation = make_foundation(options.base, options.layers, examples)
        checkpoints = options.out / "checkpoints"
        save_packed(train_tagger(examples, [], config, options.seed, checkpoints, Report(), foundation), first)
    reader = load(first)
    assert isinstance(reader, Tagger) and isinstance(reader.foundation, EncoderFoundation)
    examples = make_examples([*last, *random.Random(options.seed).sample(rows, AGAIN)], owners=True)
    config = replace(config, rate=2e-4, warmup=0.1, epochs=2)
    foundation = replace(reader.foundation, tuning=replace(TUNING, rate=6e-5), mark=" last")
    checkpoints = options.out / "checkpoints-last"
    second = options.out / "second"
    if not (second / "config.json").is_file():
        save_packed(train_tagger(examples, [], config, options.seed, checkpoints, Report(), foundation, reader), second)
    tagger = load(second)
    assert isinstance(tagger, Tagger)
    paths = dict.fromkeys([*options.annotations, *options.last])
    marked = gather_pairs({path: read_annotation(path, texts) for path in paths}, second, options.scorer)
    checkpoints = options.out / "checkpoints-markers"
    save_packed(train_markers(tagger, marked, options.threads, options.seed, checkpoints), options.out / "reader")


# ---- Markers

LabelledPairs = list[tuple[Place, int]]
"""Places, and what is there: 0 for no triplet, 1 and more for one of a polarity."""


@dataclass(frozen=True, slots=True, eq=False)
class MarkedText:
    """A text with pairs: from which token to which their spans reach [n, 2, 2], and what they are [n]."""

    text: Encoded
    spans: IntArray
    labels: IntArray


def gather_pairs(rows: dict[Path, list[Row]], folder: Path, scorer_path: Path) -> list[tuple[str, LabelledPairs]]:
    """The pairs of each review that teach markers."""
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
    return [(text, pairs) for text, pairs in out if pairs]


def label_pairs(scorer: object, read: ReadReview, example: Example) -> LabelledPairs:
    """The labelled triplets, what rules and reader find, and some pairs of labelled spans that are no triplets."""
    gold = {place_of(triplet): 1 + POLARITIES.index(triplet.polarity) for triplet in example.triplets}
    labels = dict(gold)
    for triplet in (*read.ruled, *(other for _, other in read.shown.proposals)):
        place = place_of(triplet)
        label = next((label for known, label in gold.items() if do_overlap(place, known)), 0)
        unclear = label == 1 + POLARITIES.index(triplet.polarity) and not is_right(scorer, read, triplet)
        if place not in labels and not unclear:
            labels[place] = label
    draw = random.Random(example.text)
    crossed = [(aspect, opinion) for aspect, _ in gold for _, opinion in gold]
    apart = [p for p in sorted(set(crossed)) if p not in labels and not any(do_overlap(p, known) for known in gold)]
    labels |= dict.fromkeys(draw.sample(apart, min(CROSSED, len(apart))), 0)
    pairs = sorted(labels.items())
    return draw.sample(pairs, min(MOST, len(pairs)))


def do_overlap(place: Place, other: Place) -> bool:
    """Whether aspects overlap, and opinions do."""
    return all(own[0] < its[1] and its[0] < own[1] for own, its in zip(place, other, strict=True))


def encode_pairs(text: str, pairs: LabelledPairs, encode: TextEncoder) -> MarkedText:
    encoded = encode(text)
    assert encoded.tokens is not None, "a tagger on a pretrained encoder"
    spans = encoded.tokens.stretches(np.array([place for place, _ in pairs]))
    return MarkedText(encoded, spans.astype(np.int32), np.array([label for _, label in pairs], np.int32))


class MarkerLesson(nn.Module):
    """The markers of a network, whose other parts stand still. Layers that the encoder taught learn slower."""

    def __init__(self, network: TaggerNetwork) -> None:
        super().__init__()
        self.markers, self._read = network.markers, (network.eval(),)  # in a tuple: no part of what is trained

    def rate_scales(self) -> dict[str, float]:
        return {name: 0.1 for name, _ in self.named_parameters() if ".layers." in name}

    def loss(self, texts: list[MarkedText]) -> Tensor:
        """Cross-entropy, the mean over pairs."""
        (network,) = self._read
        row = torch.from_numpy(np.repeat(np.arange(len(texts)), [len(text.labels) for text in texts]))
        spans, labels = (
            torch.from_numpy(np.concatenate([getattr(text, name) for text in texts]).astype(np.int64))
            for name in ("spans", "labels")
        )
        with torch.autocast("cpu", torch.bfloat16):
            with torch.no_grad():
                context = network.context(collate([text.text for text in texts]))
            logits = network.mark(context, row, spans)
        return functional.cross_entropy(logits.float(), labels)


def train_markers(
    tagger: Tagger, marked: list[tuple[str, LabelledPairs]], threads: int, seed: int, checkpoints: Path
) -> Tagger:
    """The tagger with markers, which begin as the encoder's upper layers."""
    assert isinstance(tagger.foundation, EncoderFoundation)
    config = replace(tagger.config, marker_layers=MARKER_LAYERS)
    encode = tagger.foundation.make_encoder(config)
    items = [encode_pairs(text, pairs, encode) for text, pairs in marked]
    with scope(threads, seed_of(seed, "markers")):
        network = TaggerNetwork(tagger.foundation, config)
        network.load_state_dict(tagger.network.state_dict(), strict=False)
        assert network.markers is not None
        upper = network.trunk.encoder.encoder.layer[-MARKER_LAYERS:]  # type: ignore[union-attr, index]
        network.markers.layers.load_state_dict(upper.state_dict())
        nn.init.normal_(network.markers.kind.weight, std=0.02)
    lesson = MarkerLesson(network)
    teach = replace(config, rate=MARKER_RATE, warmup=0.06, epochs=MARKER_EPOCHS, batch_chars=960, threads=threads)
    print(f"{len(items):,} reviews with {sum(len(item.labels) for item in items):,} pairs", flush=True)
    course = course_of(
        lesson, [len(item.text) for item in items], lambda chosen: lesson.loss([items[i] for i in chosen]),
        lambda: 0.0, teach, seed, weigh=lambda chosen: sum(len(items[i].labels) for i in chosen), save_steps=500,
    )  # fmt: skip
    mark = fingerprint(f"markers {tagger.digest} {hashlib.sha256(repr(marked).encode()).hexdigest()}", teach, seed)
    learn(lesson, optimizer_of(lesson, teach), course, Checkpoints(checkpoints, mark), Report())
    network.eval()
    return Tagger(network, tagger.foundation, config, tagger.threshold, tagger.facts)


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
