"""Rules against human gold: `python tests/measure/dimabsa.py DATA_DIR [--ablate] [--errors N] [--draw N --seed S]`.

DATA_DIR holds the dimABSA files (SIGHAN 2024 training sets 1 and 2 in Traditional script, and the polarity file of
2026). Prints micro scores of the rules, exact against `opinion_full` and lenient against `opinion`, NULL parts left
out; with --ablate the same with one part switched off at a time; with --errors N that many wrong sentences, drawn with
a fixed seed, to be read by eye; with
--draw N that many single errors of the two training sets, which a person puts into classes.
"""

from __future__ import annotations

import argparse
import json
import random
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from types import MappingProxyType

from builder.engine import Engine
from builder.engine.reader import Reading, Recipe, extract, make_reader
from builder.gold.metrics import Answer, micro
from builder.gold.metrics.scores import MEETS
from builder.language.lexicon.resources import Lexicon
from builder.language.lexicon.rules import Rule, load_rules

Gold = dict[str, tuple[str, list[Answer]]]


def gold(folder: Path) -> Gold:
    """All sets; polarity by valence: up to 4.4 negative, from 5.6 positive."""
    out: Gold = {}
    for path in sorted(folder.glob("SIGHAN2024_dimABSA_TrainingSet*_Traditional.json")):
        for row in json.loads(path.read_text(encoding="utf-8")):
            valences = [float(cell.split("#")[0]) for cell in row["Intensity"]]
            polarities = ["NEG" if v <= 4.4 else "POS" if v >= 5.6 else "NEU" for v in valences]
            listed = list(zip(row["Aspect"], row["Opinion"], polarities, strict=True))
            out[f"{path.stem}:{row['ID']}"] = row["Sentence"], [one for one in listed if "NULL" not in one[:2]]
    for path in sorted(folder.glob("*_polarity.jsonl")):
        for row in map(json.loads, path.read_text(encoding="utf-8").splitlines()):
            listed = [(t["Aspect"], t["Opinion"], t["Polarity"]) for t in row["Triplet"]]
            out[f"{path.stem}:{row['ID']}"] = row["Text"], [one for one in listed if "NULL" not in one[:2]]
    return out


def predict(readings: Mapping[str, Reading], engine: Engine) -> dict[str, dict[str, list[Answer]]]:
    """Answers with `opinion` and with `opinion_full`."""
    out: dict[str, dict[str, list[Answer]]] = {"opinion": {}, "opinion_full": {}}
    for key, reading in readings.items():
        triplets = extract(engine, reading)
        for name, answers in out.items():
            answers[key] = [
                (triplet.aspect.text, getattr(triplet, name).text, triplet.polarity) for triplet in triplets
            ]
    return out


def systems(lexicon: Lexicon, rules: Sequence[Rule]) -> Iterator[tuple[str, Lexicon, Sequence[Rule]]]:
    """The whole engine, then each part off: a pairing rule, a filter, the context lexicon, phrases, compounds."""
    yield "all", lexicon, rules
    for rule in rules:
        if (rule.kind.startswith("pair-") and rule.kind != "pair-sentence") or (
            rule.kind in ("valence", "compatible", "conjunction")
            or rule.params.get("paired")
            or rule.name in ("comparisons", "question")
        ):
            yield f"without {rule.name}", lexicon, [one for one in rules if one is not rule]
    empty: MappingProxyType[str, tuple[tuple[str, float], ...]] = MappingProxyType({})
    yield "without context lexicon", replace(lexicon, context=empty), rules
    yield "without morphemes", replace(lexicon, morphemes=MappingProxyType({})), rules
    yield "without irrealis words", replace(lexicon, irrealis=MappingProxyType({})), rules
    for name, changed, off in (
        ("merge", "joined-opinions", {"merge": 0}),
        ("compounds", "names", {"compounds": False}),
        ("verdicts apart", "joined-opinions", {"apart": ()}),
        ("qualities had", "joined-opinions", {"had": False}),
        ("words that join", "words-of-phrases", {"words": {}}),
        ("words of names", "words-of-terms", {"words": {}}),
        ("words that sum a list up", "lists", {"words": {}}),
        ("names that touch", "shortest-path", {"touching": ()}),
        ("dishes carried", "carried-topic", {"wholes": (), "foreign": {}}),
        ("gates of the carried topic", "carried-topic", {"never": (), "others": (), "before": ()}),
    ):
        yield (
            f"without {name}",
            lexicon,
            [replace(r, params=MappingProxyType({**r.params, **off})) if r.name == changed else r for r in rules],
        )


def single_errors(gold: Sequence[Answer], told: Sequence[Answer]) -> list[tuple[str, Answer, Answer | None]]:
    """Each error of a sentence once: `polarity` and `opinion` (its aspect is another) with the gold answer,
    `told` or `missed` alone.
    """
    meets = MEETS["lenient"]
    left, wrong = list(dict.fromkeys(gold)), []
    for answer in dict.fromkeys(told):
        hit = next((one for one in left if meets(one, answer)), None)
        left.remove(hit) if hit else wrong.append(answer)
    out: list[tuple[str, Answer, Answer | None]] = []
    for answer in wrong:
        pair = next((one for one in left if meets((*one[:2], ""), (*answer[:2], ""))), None)
        near = pair or next((one for one in left if meets(("", one[1], ""), ("", answer[1], ""))), None)
        out.append(("polarity" if pair else "opinion" if near else "told", answer, near))
        if near:
            left.remove(near)
    return out + [("missed", one, None) for one in left]


def draw(due: Gold, told: dict[str, list[Answer]], many: int, seed: int) -> None:
    """`many` single errors of the training sets with what is said of their sentences, to be read by eye."""
    listed = [(key, error) for key in due if "Training" in key for error in single_errors(due[key][1], told[key])]
    print(f"{len(listed):,} single errors in the training sets, {many} drawn with seed {seed}")
    for number, (key, (kind, answer, near)) in enumerate(random.Random(seed).sample(listed, many), 1):
        print(number, kind, "|".join(answer), "for " + "|".join(near) if near else "", "::", due[key][0].strip())
        print("     gold", *("|".join(one) for one in due[key][1]), "  told", *("|".join(one) for one in told[key]))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("data", type=Path)
    parser.add_argument("--ablate", action="store_true")
    parser.add_argument("--errors", type=int, default=0)
    parser.add_argument("--draw", type=int, default=0)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    due = gold(options.data)
    reader, rules = make_reader(Recipe()), load_rules()
    lexicon = reader.lexicon
    readings = dict(zip(due, reader.read([text for text, _ in due.values()]), strict=True))
    flat = {key: answers for key, (_, answers) in due.items()}
    print(f"{len(due):,} sentences, {sum(map(len, flat.values())):,} triplets")
    for name, words, listed in systems(lexicon, rules) if options.ablate else [("all", lexicon, rules)]:
        told = predict(readings, Engine(words, listed))
        lenient, pair = micro(flat, told["opinion"], "lenient"), micro(flat, told["opinion"], "lenient", "pair")
        exact = micro(flat, told["opinion_full"])
        print(
            f"{name:32} lenient P {lenient.precision:.1f} R {lenient.recall:.1f} F1 {lenient.f1:.1f}  pair F1 "
            f"{pair.f1:.1f}"
            f"  exact (opinion_full) P {exact.precision:.1f} R {exact.recall:.1f} F1 {exact.f1:.1f}"
        )
    if options.draw:
        draw(due, predict(readings, Engine(lexicon, rules))["opinion"], options.draw, options.seed)
    if options.errors:
        told = predict(readings, Engine(lexicon, rules))
        wrong = [key for key in due if micro({key: flat[key]}, {key: told["opinion"][key]}, "lenient").f1 < 100]
        for key in random.Random(150).sample(wrong, min(options.errors, len(wrong))):
            print(due[key][0].strip(), "\n   gold", flat[key], "\n   told", told["opinion"][key])


if __name__ == "__main__":
    main()
