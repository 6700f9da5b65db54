"""A domain's words and rules against gold: `python tests/measure/domain.py GOLD DOMAIN… [--new
TEXTS] [--source E] [--errors N] [--ids START]`.

GOLD holds sentences as JSON lines with `Text` and `Triplet` (dimABSA 2026), or whole reviews with `text` and `triplets`
(tests/measure/annotation), gzipped or not. DOMAIN is a name or the folder of a pack. The rules read alone; with
--source E together with the shipped model, as a build does. Prints for each domain micro
scores, lenient against `opinion` and exact against `opinion_full`, NULL parts left out; with --new also those of a pack
that `builder words domain new` makes of the texts alone of TEXTS, a file as GOLD, without an answer; with --errors N
that many sentences of the last domain with what is wrong there; with --ids only texts whose id begins so. Of whole
reviews exact compares the longest forms of aspect and opinion.
"""

from __future__ import annotations

import argparse
import gzip
import json
import random
import tempfile
from collections.abc import Sequence
from operator import attrgetter
from pathlib import Path
from typing import Any, Literal

from builder import Extractor
from builder.gold.metrics import Answer, micro
from builder.teaching.domain_packs import make_pack

Answers = dict[str, list[Answer]]


def read_gold(path: Path) -> tuple[dict[str, str], Answers, Answers]:
    """Texts, triplets and triplets in their longest form, by id. dimABSA has one form."""
    texts: dict[str, str] = {}
    short: Answers = {}
    longest: Answers = {}
    for row in read_lines(path):
        if "text" in row:
            texts[row["id"]], parts = row["text"], row["triplets"]
            short[row["id"]] = [(part["aspect"], part["opinion"], part["polarity"]) for part in parts]
            longest[row["id"]] = [(part["aspect_full"], part["opinion_full"], part["polarity"]) for part in parts]
        else:
            triplets = [(part["Aspect"], part["Opinion"], part["Polarity"]) for part in row["Triplet"]]
            texts[row["ID"]] = row["Text"]
            short[row["ID"]] = [triplet for triplet in triplets if "NULL" not in triplet[:2]]
    return texts, short, longest or short


def read_lines(path: Path) -> list[dict[str, Any]]:
    """The rows of a file of JSON lines, gzipped or not."""
    content = path.read_bytes()
    return [json.loads(line) for line in (gzip.decompress(content) if path.suffix == ".gz" else content).splitlines()]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("gold", type=Path)
    parser.add_argument("domains", nargs="+")
    parser.add_argument("--new", type=Path)
    parser.add_argument("--source", choices=["rules", "E"], default="rules")
    parser.add_argument("--errors", type=int, default=0)
    parser.add_argument("--ids", default="")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        made = [str(induce_pack(options.new, Path(folder)))] if options.new else []
        measure(options.gold, [*made, *options.domains], options.source, options.errors, options.ids)


def induce_pack(labelled: Path, folder: Path) -> Path:
    """The pack of the texts of a file; its labels are not read into it."""
    raw = folder / "texts.jsonl"
    texts = [row["text"] if "text" in row else row["Text"] for row in read_lines(labelled)]
    raw.write_text("".join(json.dumps({"text": text}) + "\n" for text in texts), encoding="utf-8")
    return make_pack("induced", [raw], folder / "induced").folder


def measure(labelled: Path, domains: Sequence[str], source: Literal["rules", "E"], errors: int, start: str) -> None:
    """Print a row of scores for each domain, and some sentences of the last one; of ids that begin with `start`."""
    texts, gold, longest = read_gold(labelled)
    texts = {key: text for key, text in texts.items() if key.startswith(start)}
    gold, longest = ({key: rows[key] for key in texts} for rows in (gold, longest))
    aspect = attrgetter("aspect" if longest == gold else "aspect_full")
    short: Answers = {}
    for domain in domains:
        found = dict(zip(texts, Extractor(domain=domain, source=source).stream(texts.values()), strict=True))
        short = {key: [(t.aspect.text, t.opinion.text, t.polarity) for t in found[key]] for key in found}
        full: Answers = {key: [(aspect(t).text, t.opinion_full.text, t.polarity) for t in found[key]] for key in found}
        lenient, exact = micro(gold, short, "lenient"), micro(longest, full)
        scores = (lenient.precision, lenient.recall, lenient.f1, exact.precision, exact.recall, exact.f1)
        print(f"| {Path(domain).name} | {' | '.join(f'{score:.1f}' for score in scores)} |")
    keys = [key for key in texts if micro({key: gold[key]}, {key: short[key]}, "lenient").f1 < 100]
    for key in random.Random(7).sample(keys, min(errors, len(keys))):
        print(texts[key], "\n   gold", *map("|".join, gold[key]), "\n   made", *map("|".join, short[key]))


if __name__ == "__main__":
    main()
