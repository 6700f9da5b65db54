"""How fast are eda and the filter: `python tests/measure/boost_rates.py FILE [--sentences N] [--peers PYTHON]
[--candidates N] [--threads N]`.

FILE is English text in three lines a sentence (text with $T$, aspect, polarity), as aspect polarity sets are kept.
Prints sentences per second of our eda and, if PYTHON of an environment with textattack and nlpaug is named, of their
EDA on the same sentences in the same run, four candidates a sentence, with the ratio; then the candidates per second
that the embedded surrogate reads (label, confidence, pseudo-perplexity). All figures are by the clock and by processor
seconds, which another program on the machine does not lengthen.

The peers want NLTK's WordNet (NLTK_DATA). What of their dependencies EDA never calls may be missing: a placeholder
stands for it. NLTK's tagger, which nlpaug asks for a word's part of speech, is trained here on a few sentences where
its own model is missing: its work is the same.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

COPIES, WARM = 4, 40
PEERS = ("textattack", "nlpaug")
Rate = tuple[float, float, int]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("text", type=Path)
    parser.add_argument("--sentences", type=int, default=400)
    parser.add_argument("--candidates", type=int, default=20_000)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--epochs", type=int, default=2)
    parser.add_argument("--peers")
    parser.add_argument("--as-peer", help=argparse.SUPPRESS)
    options = parser.parse_args()
    texts = read(options.text)[: options.sentences]
    if options.as_peer:
        print(json.dumps(peer(options.as_peer, texts)))
        return
    ours = eda(texts)
    show("builder eda", ours)
    for name in PEERS:
        if options.peers:
            theirs = beside(options.peers, name, options)
            show(f"{name} EDA", theirs)
            print(
                f"  eda is {ours[0] / theirs[0]:.0f} times as fast by the clock, "
                f"{ours[1] / theirs[1]:.0f} times by processor seconds"
            )
        else:
            print(f"{name}: not measured, name an environment that has it with --peers")
    reading(options)


def read(path: Path) -> list[str]:
    """The distinct texts of a file, in order."""
    lines = path.read_text("utf-8").splitlines()
    return list(
        dict.fromkeys(a.replace("$T$", b.strip()).strip() for a, b in zip(lines[::3], lines[1::3], strict=False))
    )


def show(name: str, rate: Rate) -> None:
    clock, processor, made = rate
    print(f"{name:16} {clock:9.1f} sentences/s, {processor:9.1f} per processor second, {made} candidates")


def timed(work: Callable[[], int], count: int) -> Rate:
    clock, processor = time.perf_counter(), time.process_time()
    made = work()
    return count / (time.perf_counter() - clock), count / (time.process_time() - processor), made


def eda(texts: list[str]) -> Rate:
    import re
    from dataclasses import replace

    from builder.augment import catalogue
    from builder.augment.candidates import Sentence, applied
    from builder.augment.catalogue import AugmentSettings, Given

    made = catalogue.make_method("eda", replace(AugmentSettings(), given=Given(language="en")))

    def work(texts: list[str]) -> int:
        sentences = [
            Sentence(str(i), text, tuple(m.span() for m in re.finditer(r"\S+", text)), (), None, "en")
            for i, text in enumerate(texts)
        ]
        rows = made.propose(sentences, COPIES, 1)
        return sum(len([applied(one.text, c.edits) for c in row]) for one, row in zip(sentences, rows, strict=True))

    work(texts[:WARM])
    return timed(lambda: work(texts), len(texts))


def beside(python: str, name: str, options: argparse.Namespace) -> Rate:
    """The peer's rate, in a process of its own; starting and importing are not counted."""
    asked = [python, __file__, str(options.text), "--sentences", str(options.sentences), "--as-peer", name]
    done = subprocess.run(asked, capture_output=True, text=True, check=False)
    if done.returncode:
        raise SystemExit(f"{name} does not run in {python}: {done.stderr.strip().splitlines()[-1]}")
    clock, processor, made = json.loads(done.stdout.splitlines()[-1])
    return clock, processor, made


def peer(name: str, texts: list[str]) -> Rate:
    work = made({"textattack": textattack, "nlpaug": nlpaug}[name])
    for text in texts[:WARM]:  # whatever is loaded on first use
        work(text)
    return timed(lambda: sum(len(work(text)) for text in texts), len(texts))


def made(make: Callable[[], Callable[[str], list[str]]]) -> Callable[[str], list[str]]:
    """The peer's EDA; each module that is missing gets a placeholder, and it is tried again."""
    from unittest.mock import MagicMock

    import nltk

    nltk.download = lambda *args, **kwargs: True
    for module in (
        "flair",
        "flair.data",
    ):  # a tagger that no transformation of EDA calls; importing it takes half a minute
        sys.modules[module] = MagicMock(__spec__=None)
    while True:
        try:
            return make()
        except ModuleNotFoundError as error:
            if not error.name or error.name.split(".")[0] in (*PEERS, "nltk"):
                raise
            sys.modules[error.name] = MagicMock(__spec__=None)
            for name in [name for name in sys.modules if name.split(".")[0] in PEERS]:
                del sys.modules[name]


def textattack() -> Callable[[str], list[str]]:
    from textattack.augmentation import EasyDataAugmenter

    made = EasyDataAugmenter(pct_words_to_swap=0.1, transformations_per_example=COPIES)
    return lambda text: list(made.augment(text))


def nlpaug() -> Callable[[str], list[str]]:
    """nlpaug has EDA's operations one by one (insertion only from a neural model):
    synonym, swap and deletion in turn.
    """
    import nltk
    from nlpaug.augmenter import word

    try:
        nltk.pos_tag(["good"])
    except LookupError:
        tagger = nltk.PerceptronTagger(load=False)
        tagger.train(
            [[("the", "DT"), ("good", "JJ"), ("soup", "NN"), ("was", "VBD"), ("brought", "VBN"), ("quickly", "RB")]] * 3
        )
        nltk.pos_tag = lambda words, *args, **kwargs: tagger.tag(words)
    synonym, swap, delete = (
        word.SynonymAug(aug_p=0.1),
        word.RandomWordAug("swap", aug_p=0.1),
        word.RandomWordAug("delete", aug_p=0.1),
    )
    turns = (synonym, swap, delete, synonym)[:COPIES]
    return lambda text: [one for method in turns for one in method.augment(text)]


def reading(options: argparse.Namespace) -> None:
    """Trains an embedded surrogate for a moment on the file and reads candidates of eda with it."""
    import re
    from dataclasses import replace

    from builder.augment import catalogue
    from builder.augment.candidates import Mark, Sentence
    from builder.augment.catalogue import AugmentSettings, Given
    from builder.augment.methods import boostaug
    from builder.augment.methods.boost_embedded import ClassTrainer, TwoWayConfig

    named = {"positive": "POS", "negative": "NEG", "neutral": "NEU"}
    lines, sentences = options.text.read_text("utf-8").splitlines(), []
    for i, (text, aspect, polarity) in enumerate(zip(lines[::3], lines[1::3], lines[2::3], strict=False)):
        at, whole = text.strip().index("$T$"), text.strip().replace("$T$", aspect.strip(), 1)
        marks = (Mark(at, at + len(aspect.strip()), "aspect", named[polarity.strip().lower()]),)  # type: ignore[arg-type]
        sentences.append(
            Sentence(str(i), whole, tuple(m.span() for m in re.finditer(r"\S+", whole)), marks, None, "en")
        )
    with tempfile.TemporaryDirectory() as folder:
        started = time.perf_counter()
        surrogate = ClassTrainer(TwoWayConfig(), options.epochs, options.threads).fit(sentences, (), 1, Path(folder))
        print(
            f"surrogate        {options.epochs} epochs on {len(sentences)} sentences in "
            f"{time.perf_counter() - started:.1f} s"
        )
    backend = catalogue.make_method("eda", replace(AugmentSettings(), given=Given(language="en")))
    rows = zip(sentences, backend.propose(sentences, 16, 1), strict=True)
    made = [one for sentence, row in rows for candidate in row if (one := boostaug.changed(sentence, candidate))][
        : options.candidates
    ]
    surrogate.read(made[:500])
    clock, processor, count = timed(lambda: len(surrogate.read(made)), len(made))
    words = sum(len(one.text.split()) for one in made) / len(made)
    shown = f"{clock:9.1f} candidates/s, {processor:9.1f} per processor second"
    print(f"filter           {shown}, {count} candidates of {words:.1f} words, {options.threads} threads")


if __name__ == "__main__":
    main()
