"""What labels teach: `python tests/measure/labels.py COMPLETE_DIR DIMABSA_DIR SCORER [--splits N]`.

The folders and the script are those of decision.py. Weights before teaching are fitted on dimABSA and the examples of
the rules alone, for the shipped ones were chosen on COMPLETE_DIR. In each split 100 whole reviews teach and 120
others are scored. Prints mean precision, recall and F1 of the rules: with no labels, with the words of the labels that
the lexicon lacks, and with the aspects that `builder gold gain --teach` keeps; behind them the least and the
most that F1 rose in a split.
"""

from __future__ import annotations

import argparse
import json
import random
import tempfile
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path

from decision import (
    Text,
    answer,
    change_weights,
    collect,
    fit,
    load_scorer,
    read_examples,
    read_sentences,
    read_whole,
)

from builder.engine.engine import Engine
from builder.engine.reader import Reader, Recipe, extract, make_reader
from builder.language.lexicon.folders import Folders
from builder.language.lexicon.overlay import Overlay, own, write
from builder.language.lexicon.rules import load_rules
from builder.release.export.native_rows import extracted
from builder.teaching.label_sources import read_labels
from builder.teaching.lessons import lay_aspects, learn_aspects, read_taught

TEACH = 100
VALENCE = {"POS": 8.0, "NEG": 3.0, "NEU": 5.0}


def read_words(labels: Sequence[Mapping[str, str]], text: str, reader: Reader) -> list[tuple[str, str, str]]:
    """(kind, word, category or class) of the words of a review's labels that the lexicon lacks. An aspect takes the
    class that most aspects with its ending have.
    """
    rows = []
    for label in labels:
        opinion, aspect = label["opinion"], label["aspect"].partition("[")[0]
        if 2 <= len(opinion) <= 6 and opinion in text and not reader.lexicon.knows(opinion):
            rows.append(("opinion", opinion, own("labels", label["polarity"].lower())))
        if 2 <= len(aspect) <= 8 and aspect in text and aspect not in reader.lexicon.aspects:
            classes = Counter(e.cls for e in reader.lexicon.aspects.values() if e.word.endswith(aspect[-1]))
            rows.append(("aspect", aspect, classes.most_common(1)[0][0] if classes else "food.dish"))
    return rows


def lay_words(words: Sequence[tuple[str, str, str]], folder: Path) -> Reader:
    """A reader that knows these words too."""
    opinions, aspects = ({word: cls for kind, word, cls in words if kind == which} for which in ("opinion", "aspect"))
    categories = tuple((own("labels", name.lower()), valence, name) for name, valence in VALENCE.items())
    write(Overlay("labels", tuple(opinions.items()), tuple(aspects.items()), categories), folder)
    return make_reader(Recipe(folders=Folders(overlays=(folder,))))


def teach_all(
    keys: Sequence[str], held: Mapping[str, Text], weights: Mapping[str, float], reader: Reader, gold: Path
) -> dict[str, list[object]]:
    """What the rules find in held-out reviews after the aspects that `builder gold gain --teach` keeps."""
    rules = change_weights(load_rules(), weights)
    rows = [row for row in read_labels(gold).rows if row["id"] in set(keys)]
    aspects = learn_aspects(read_taught(rows, gold, reader), reader.lexicon)
    with lay_aspects(aspects, Folders(), reader) as wider:
        engine = Engine(wider.lexicon, rules)
        readings = wider.read([text.reading.text for text in held.values()])
        return {
            key: [dict(extracted(t)) for t in extract(engine, reading)]
            for key, reading in zip(held, readings, strict=True)
        }


def write_required(path: Path, texts: Mapping[str, str], required: Mapping[str, Sequence[Mapping[str, str]]]) -> None:
    """The required triplets as labels without spans."""
    keys = ("aspect", "opinion", "polarity")
    rows = (
        {"id": key, "text": text, "triplets": [{name: label[name] for name in keys} for label in required[key]]}
        for key, text in texts.items()
    )
    path.write_text("".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows), encoding="utf-8")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("complete", type=Path)
    parser.add_argument("dimabsa", type=Path)
    parser.add_argument("scorer", type=Path)
    parser.add_argument("--splits", type=int, default=5)
    options = parser.parse_args()
    scorer, reader = load_scorer(options.scorer, options.complete), make_reader(Recipe())
    weights = fit(collect([*read_sentences(options.dimabsa, reader), *read_examples(reader)], reader))
    whole, (required, _) = read_whole(options.complete, scorer, reader), scorer.gold()
    rows = map(json.loads, (options.complete / "texts.jsonl").read_text(encoding="utf-8").splitlines())
    texts = {row["id"]: row["text"] for row in rows}
    scores: dict[str, list[Mapping[str, float]]] = {}
    for split in range(options.splits):
        ordered = sorted(whole)
        random.Random(split).shuffle(ordered)
        ordered = ordered[len(ordered) // 2 :] + ordered[: len(ordered) // 2]
        test = sorted(ordered[len(ordered) // 2 :])
        first = {key: whole[key] for key in test}
        result = {"nothing": scorer.score(answer(first, weights, reader), True, test)}
        with tempfile.TemporaryDirectory() as folder:
            words = [row for key in ordered[:TEACH] for row in read_words(required[key], texts[key], reader)]
            wider = lay_words(words, Path(folder))
            again = read_whole(options.complete, scorer, wider)
            held = {key: again[key] for key in test}
            result["words"] = scorer.score(answer(held, weights, wider), True, test)
            write_required(Path(folder) / "gold.jsonl", texts, required)
            taught = teach_all(ordered[:TEACH], first, weights, reader, Path(folder) / "gold.jsonl")
            result["what `gain --teach` keeps"] = scorer.score(taught, True, test)
        for name, score in result.items():
            scores.setdefault(name, []).append(score)
    for name, own_scores in scores.items():
        means = [sum(score[part] for score in own_scores) / len(own_scores) for part in ("P", "R", "F1")]
        gains = [score["F1"] - before["F1"] for score, before in zip(own_scores, scores["nothing"], strict=True)]
        spread = f"{min(gains):+.1f} to {max(gains):+.1f}"
        print(f"| {name} | {' | '.join(f'{mean:.1f}' for mean in means)} | {spread} |")


if __name__ == "__main__":
    main()
