"""Train the reader that is shipped: `python tests/measure/train_reader.py BASE OUT ANNOTATION... --last ANNOTATION...`.

BASE is the folder of an encoder, of which the lowest `--layers` are kept. The reader learns from all annotations in
three passes, then from those of `--last`, which are written as people write, and `AGAIN` of the others in two slower
passes, in which an attribute is named with the thing that it is of. It is told nothing of what the rules read. Killed,
it goes on from OUT/checkpoints. The files of annotation are those of `pack_model.py`. OUT/reader is what is shipped.
"""

from __future__ import annotations

import argparse
import csv
import random
import re
import time
from dataclasses import dataclass, field, replace
from pathlib import Path

from pack_model import Row, make_example, read_annotation, read_texts, save_packed

from builder.core.records import Element, Triplet
from builder.engine.reader import Recipe, make_reader
from builder.language.lexicon.resources import Lexicon
from builder.learning.encode import Vocabulary
from builder.learning.task import EncoderTuning, Example, TaggerConfig
from builder.models.encoder import EncoderFoundation, load_encoder
from builder.models.saved import load
from builder.models.tagger import Tagger, train_tagger

CONFIG = TaggerConfig(
    char_size=64, bigram_buckets=2048, bigram_size=32, width=256, layers=2, dropout=0.15, rate=1e-3, epochs=3,
    warmup=0.06, batch_chars=1920, window=480, max_gap=256, max_clauses=12, threads=2,
)  # fmt: skip
TUNING = EncoderTuning(rate=2e-4, layer_decay=0.9, precision="bf16")
LAYER = re.compile(r"\blayers?\.(\d+)\.")
MIN_COUNT, AGAIN = 3, 2000
ATTRIBUTES = ("quality.", "price.", "service.")
"""Classes of aspects that are attributes of a thing."""


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
    tagger = train_tagger(examples, [], config, options.seed, checkpoints, Report(), foundation, start=reader)
    save_packed(tagger, options.out / "reader")
    print(tagger.facts)


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
