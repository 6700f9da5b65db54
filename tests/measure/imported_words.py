"""What a long list of imported names costs annotate and seed: both readers over the same reviews, in turns.

    python tests/measure/imported_words.py NAMES.tsv REVIEWS.csv [COUNT]

Prints seconds of processor time of the shipped lexicon and of that with the names, and their ratio.
"""

from __future__ import annotations

import sys
import tempfile
import time
from itertools import islice
from pathlib import Path

from builder.engine.reader import Recipe, make_reader
from builder.language.lexicon.folders import Folders
from builder.language.lexicon.importers import import_lexicon
from builder.language.lexicon.overlay import write
from builder.language.lexicon.resources import load_lexicon
from builder.language.nlp.embedded import load_segmenter
from builder.reviews import sources
from builder.reviews.sources.cells import RawReview

ROUNDS = 3


def main(names: Path, reviews: Path, count: int = 1000) -> None:
    """Compare the two."""
    shipped = load_lexicon()
    with tempfile.TemporaryDirectory() as folder:
        nouns = load_segmenter(shipped.words()).nouns
        write(import_lexicon(names, "dishes", shipped, find_nouns=nouns), Path(folder))
        readers = {
            "shipped": make_reader(Recipe()),
            "with the names": make_reader(Recipe(folders=Folders(imported=(Path(folder),)))),
        }
    rows = (row.text for row in sources.read(reviews) if isinstance(row, RawReview))
    texts = list(islice(rows, 0, 8 * count, 8))
    seconds = dict.fromkeys(readers, 0.0)
    for reader in readers.values():
        reader.extract(texts[:50])  # what is loaded lazily
    for _ in range(ROUNDS):
        for name, reader in readers.items():
            began = time.process_time()
            reader.extract(texts)
            seconds[name] += time.process_time() - began
    for name, spent in seconds.items():
        print(f"{name}: {spent:.1f} s")
    print(f"ratio {seconds['with the names'] / seconds['shipped']:.3f}")


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]), *map(int, sys.argv[3:]))
