"""How fast the augmentation methods are: `python tests/measure/augment_speed.py REVIEWS.csv [--sentences 500]
[--copies 4] [--methods …] [--epochs N] [--show 3]`.

REVIEWS.csv has a column `text`. Sentences of 8 to 80 characters with an aspect are drawn with a fixed seed; words are
those of the embedded backend, marks those of the rules. Prints for each method the seconds of training, and
sentences/s of generation (all copies of a sentence count once), both by the clock and by processor time, which other
programs on the machine do not change (of T threads: about T times what the clock would say of an idle machine);
candidates a sentence, and the share of candidates in which every mark stands; with --show some of them. `--epochs`
caps every phase of training.
"""

from __future__ import annotations

import argparse
import csv
import random
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from builder.augment.candidates import Mark, Method, Rewrite, Sentence, applied, moved
from builder.augment.method_settings import (
    CBertSettings,
    ContextSettings,
    Gpt2Settings,
    MaskedSeq2SeqSettings,
    StyleTransferSettings,
)
from builder.augment.methods import gpt2, masked_seq2seq, style_transfer
from builder.augment.methods.replacing import load_cbert, load_context
from builder.augment.training import Workplace
from builder.core.records import Token, Triplet
from builder.engine.reader import Recipe, make_reader
from builder.reviews.text import clauses, sentences

LOADERS: dict[str, tuple[Any, Callable[..., Method]]] = {
    "masked-seq2seq": (MaskedSeq2SeqSettings, masked_seq2seq.load),
    "cbert": (CBertSettings, load_cbert),
    "bert": (CBertSettings, lambda *args: load_cbert(*args, name="bert")),
    "context": (ContextSettings, lambda *args: load_context(*args, name="context")),
    "context+label": (ContextSettings, load_context),
    "gpt2": (Gpt2Settings, gpt2.load),
    "style-transfer": (StyleTransferSettings, style_transfer.load),
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("reviews", type=Path)
    parser.add_argument("--sentences", type=int, default=500)
    parser.add_argument("--copies", type=int, default=4)
    parser.add_argument("--methods", nargs="+", default=list(LOADERS), choices=list(LOADERS))
    parser.add_argument("--epochs", type=int, default=0)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--show", type=int, default=0)
    parser.add_argument("--models", type=Path, help="a folder in which models are kept")
    options = parser.parse_args()
    chosen = list(drawn(options.reviews, options.sentences))
    print(f"{len(chosen)} sentences, {sum(len(one.text) for one in chosen) / len(chosen):.1f} characters each")
    print("method          training s  (cpu s)  sentences/s  (a cpu s)  candidates  marks kept")
    for name in options.methods:
        with tempfile.TemporaryDirectory() as folder:
            measure(name, chosen, options, (options.models or Path(folder)) / name)


def measure(name: str, chosen: Sequence[Sentence], options: argparse.Namespace, folder: Path) -> None:
    settings, load = LOADERS[name]
    made = settings()
    if options.epochs:
        capped = {
            one: min(options.epochs, getattr(made, one)) for one in ("epochs", "pretrain_epochs") if hasattr(made, one)
        }
        made = replace(made, **capped)
    started = clocks()
    method = load(made, chosen, Workplace(folder, threads=options.threads))
    trained = clocks()
    proposed = list(method.propose(chosen, options.copies, 1))
    done = clocks()
    learning, writing = (
        tuple(b - a for a, b in zip(*pair, strict=True)) for pair in ((started, trained), (trained, done))
    )
    told = [(one, candidate) for one, found in zip(chosen, proposed, strict=True) for candidate in found]
    kept = sum(stands(one, candidate) for one, candidate in told) / max(1, len(told))
    speeds = (
        f"{learning[0]:10.1f}  {learning[1]:7.1f}  {len(chosen) / writing[0]:11.1f}  {len(chosen) / writing[1]:9.1f}"
    )
    print(f"{name:15} {speeds}  {len(told) / len(chosen):10.2f}  {100 * kept:9.1f}%", flush=True)
    for one, found in list(zip(chosen, proposed, strict=True))[: options.show]:
        print("  ", one.text, [one.text[mark.start : mark.end] for mark in one.marks])
        for candidate in found:
            print("     ", applied(one.text, candidate.edits), candidate.score)


def clocks() -> tuple[float, float]:
    """Seconds by the clock, and of processor time."""
    return time.monotonic(), time.process_time()


def stands(sentence: Sentence, candidate: Rewrite) -> bool:
    """Whether every mark has its words and place, those aside that the method says it changed;
    of opinions only what it promised: aspects.
    """
    changed = {(one.start, one.end) for one in candidate.changed}
    return all(
        moved((mark.start, mark.end), candidate.edits) is not None
        for mark in sentence.marks
        if mark.kind == "aspect" and (mark.start, mark.end) not in changed
    )


def drawn(path: Path, count: int) -> Iterator[Sentence]:
    with path.open(encoding="utf-8-sig", newline="") as file:
        texts = [row["text"] for row in csv.DictReader(file)]
    random.Random(1).shuffle(texts)
    reader = make_reader(Recipe())
    made = 0
    for at in range(0, len(texts), 256):
        for reading in reader.read(texts[at : at + 256]):
            doc = reading.doc
            for one in split(doc.text, doc.tokens, reader.engine.extract(doc), made):
                yield one
                made += 1
                if made == count:
                    return


def split(text: str, tokens: Sequence[Token], triplets: Sequence[Triplet], number: int) -> Iterator[Sentence]:
    """The sentences of a review that have an aspect, with the marks of their triplets;
    of two that overlap the first counts.
    """
    spans = {
        (part.start, part.end): (kind, one.polarity)
        for one in triplets
        for kind, part in (("opinion", one.opinion_full), ("aspect", one.aspect))
        if len(part.spans) == 1
    }
    for start, end in sentences(clauses(text)):
        marks: list[Mark] = []
        for (first, last), (kind, polarity) in sorted(spans.items()):
            if start <= first and last <= end and (not marks or marks[-1].end <= first - start):
                marks.append(Mark(first - start, last - start, kind, polarity))  # type: ignore[arg-type]
        words = tuple((one.start - start, one.end - start) for one in tokens if start <= one.start and one.end <= end)
        words = tuple((a, b) for a, b in words if text[start + a : start + b].strip())
        if 8 <= end - start <= 80 and any(mark.kind == "aspect" for mark in marks):
            yield Sentence(f"s{number}-{start}", text[start:end], words, tuple(marks))


if __name__ == "__main__":
    main()
