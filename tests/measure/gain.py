"""What models add to rules that never saw the reviews: `python tests/measure/gain.py MODEL COMPLETE_DIR DIMABSA_DIR
SCORER`.

MODEL is the folder of a model that a pack ships, or the working directory of a build that trained its judge and left
the complete reviews out; the other arguments are those of decision.py. The shipped weights of the decision were
chosen on the complete reviews. So every review is read here with weights that saw the others alone (decision.py's
cross-validation). Variant E starts from that, by the limits of the model, or the present ones of a build. Prints
precision, recall and F1, with F1 of both halves, of the rules and of variant E, both ways. Last come the triplets that
the rules miss: what stopped them, and how high the taggers score what is right.
"""

from __future__ import annotations

import argparse
import hashlib
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from types import ModuleType

from decision import (
    FOLDS,
    collect,
    fit,
    load_scorer,
    read_examples,
    read_sentences,
    read_whole,
)
from limits import ReadText, held, read_texts
from missed import REASONS, find_reason

from builder.core.records import Triplet
from builder.engine import Doc, Engine
from builder.engine.deciding import Weighed
from builder.engine.reader import Recipe, make_reader, to_text
from builder.language.lexicon.resources import Lexicon
from builder.language.lexicon.rules import load_rules
from builder.models.cotrain import Taggers, load_taggers
from builder.models.shipped import open_model
from builder.models.trust import TrustLimits
from builder.reviews.text import view
from builder.teaching.lessons import change_weights

Answer = dict[str, str]
SCORES = (0.02, 0.1, 0.3, 0.5)


def to_answer(triplet: Triplet) -> Answer:
    return {"aspect": triplet.aspect.text, "opinion": triplet.opinion.text, "polarity": triplet.polarity}


def open_taggers(folder: Path) -> tuple[Taggers, TrustLimits]:
    """The taggers of a shipped model or of a build, and what variant E may do by them."""
    if (folder / "judge.json").is_file():
        panel = open_model(folder, Recipe().folders)
        return panel.taggers, panel.limits
    return load_taggers(folder / "models" / "panel" / "taggers"), TrustLimits.of(1.0)


def answers(texts: Sequence[ReadText], limits: TrustLimits | None) -> dict[str, list[Answer]]:
    """What variant E holds by these limits; without any what the rules find."""
    return {
        read.id: [
            to_answer(triplet)
            for triplet in (
                held(read, limits) if limits else [to_text(triplet, read.view, read.text) for triplet in read.ruled]
            )
        ]
        for read in texts
    }


def print_scores(name: str, scorer: ModuleType, answered: Mapping[str, list[Answer]]) -> None:
    halves = [
        [key for key in answered if int(hashlib.sha256(key.encode()).hexdigest(), 16) % 2 == half] for half in (0, 1)
    ]
    values = scorer.score(answered)
    parts = [scorer.score(answered, True, half)["F1"] for half in halves]
    print(f"| {name} | {values['P']} / {values['R']} / {values['F1']} | {parts[0]} / {parts[1]} |", flush=True)


def print_missed(
    scorer: ModuleType,
    lexicon: Lexicon,
    texts: Sequence[ReadText],
    docs: Mapping[str, Doc],
    answered: Mapping[str, list[Answer]],
) -> None:
    """What the rules miss by its reason; of that, what the taggers score so high."""
    required, _ = scorer.gold()
    seen: list[tuple[str, Sequence[Weighed]]] = []
    engine = Engine(lexicon, load_rules(), observe=lambda opinion, weighed: seen.append((opinion.word, weighed)))
    missed: Counter[str] = Counter()
    scored: Counter[tuple[str, float]] = Counter()
    for read in texts:
        seen.clear()
        engine.extract(docs[read.id])
        proposed = [(chance, to_answer(to_text(triplet, read.view, read.text))) for chance, triplet in read.proposals]
        for due in _left(scorer, list(required[read.id]), answered[read.id]):
            shown, *answers = [
                {key: view(word, lexicon.variants).text for key, word in item.items()}
                for item in (due, *answered[read.id])
            ]
            reason = find_reason(scorer, shown, answers, seen)
            best = max((chance for chance, answer in proposed if scorer.match(answer, due, True)), default=0.0)
            missed[reason] += 1
            scored.update((reason, score) for score in SCORES if best >= score)
    heads = " | ".join(f"{score:g} and more" for score in SCORES)
    print(f"\n| missed by the rules | triplets | {heads} |\n|---|---|{'---|' * len(SCORES)}")
    for reason in REASONS:
        cells = " | ".join(str(scored[reason, score]) for score in SCORES)
        print(f"| {reason} | {missed[reason]} | {cells} |")


def _left(scorer: ModuleType, due: list[Answer], given: Sequence[Answer]) -> list[Answer]:
    for answer in given:
        match = next((gold for gold in due if scorer.match(answer, gold, True)), None)
        if match is not None:
            due.remove(match)
    return due


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("model", type=Path)
    parser.add_argument("complete", type=Path)
    parser.add_argument("dimabsa", type=Path)
    parser.add_argument("scorer", type=Path)
    options = parser.parse_args()
    scorer, reader = load_scorer(options.scorer, options.complete), make_reader(Recipe())
    whole = read_whole(options.complete, scorer, reader)
    cases = collect([*whole.values(), *read_sentences(options.dimabsa, reader), *read_examples(reader)], reader)
    engines = [
        Engine(reader.lexicon, change_weights(load_rules(), fit([case for case in cases if case.fold != fold])))
        for fold in range(FOLDS)
    ]
    taggers, limits = open_taggers(options.model)
    texts = read_texts(options.complete / "texts.jsonl", taggers)
    unseen = [replace(read, ruled=engines[whole[read.id].fold].extract(whole[read.id].reading.doc)) for read in texts]
    print("| system | P / R / F1 | F1 of the halves |\n|---|---|---|")
    for weights, own in (("weights of these reviews", texts), ("weights of other reviews", unseen)):
        print_scores(f"rules, {weights}", scorer, answers(own, None))
        print_scores(f"E, {weights}", scorer, answers(own, limits))
    docs = {key: text.reading.doc for key, text in whole.items()}
    print_missed(scorer, reader.lexicon, unseen, docs, answers(unseen, None))


if __name__ == "__main__":
    main()
