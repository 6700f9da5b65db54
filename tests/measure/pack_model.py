"""Make the model that the restaurant's pack ships: `python tests/measure/pack_model.py train OUT ANNOTATION...` and
`python tests/measure/pack_model.py measure MODEL ANNOTATION [--choose] [--write]`.

An annotation is a file of JSON lines, a review each: `id`, `text`, and all `triplets` with `aspect`, `aspect_full`,
`opinion`, `opinion_full` and `polarity`; or with `sha256` and spans in place of texts, which are then looked up in
the CSV file `--texts`. `train` fits a tagger that reads what the rules read, a member of the model for each seed.
`measure` scores rules, model and both on reviews that the model has not seen, and says for each rule how often the
triplets are right in which the model finds no pair. `--choose` says which limits of variant E are best, `--limits` sets
some, and `--write` puts those, the rules that the model may judge and the curves of confidence into the model's folder.
What chose them is no test of them.
"""

from __future__ import annotations

import argparse
import csv
import gzip
import hashlib
import itertools
import json
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import torch
from decision import load_scorer
from safetensors.torch import load_file
from sklearn.isotonic import IsotonicRegression

from builder.core.records import POLARITIES, Element, Span, Triplet
from builder.engine import Engine
from builder.engine.reader import Reader, Reading, Recipe, make_reader, to_text
from builder.language.lexicon.rules import load_rules
from builder.learning.checkpoint import write_tensors
from builder.learning.task import VALENCE, Example, TaggerConfig
from builder.models.cotrain import Taggers, held, load_taggers, save_taggers
from builder.models.informed import InformedFoundation
from builder.models.panel import Panel, seen
from builder.models.saved import load, save
from builder.models.shipped import open_model
from builder.models.tagger import Proposal, Tagger, train_tagger
from builder.models.trust import STANDINGS, Calibration, Curve, Standing, TrustLimits, to_kept
from builder.reviews.script import Variants
from builder.reviews.text import view

CONFIG = TaggerConfig(width=192, char_size=96, bigram_buckets=4096, epochs=5, dropout=0.35, batch_chars=1536, threads=1)
DROPS, FIRMS = (0.03, 0.05, 0.1, 0.15, 0.2, 0.25, 0.3), (0.6, 1.0, 2.0, 99.0)
ADDS, UNREADS, WIDENS = (0.4, 0.5, 0.6, 0.7), (0.5, 0.7, 0.8, 0.9, 1.01), (0.4, 0.5, 0.7)
STEPS = 12
"""Knots of a curve."""
LEAST, EVEN_ODDS = 40, 0.5
"""Triplets that a curve of several knots needs; the share right at which a rejection is as often wrong as right."""
UNTAUGHT = ("absent-object", "left-out-object", "mistaken-object", "awaited")
"""Rules that find complaints told as facts (少送了一碗飯). The annotation leaves most of these out, so the model was
never taught them, and the annotation cannot tell who is right. Of 36 that it rejected, read by a language model, 30
were right.
"""
ELEMENTS = ("aspect", "aspect_full", "opinion", "opinion_full")
Row = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class ReadReview:
    """A review with its gold, as rules and model read it."""

    row: Row
    reading: Reading
    ruled: tuple[Triplet, ...]
    proposals: Sequence[Proposal]


def read_annotation(path: Path, texts: Mapping[str, str]) -> list[Row]:
    """The rows of a file, gzipped or not, with their texts; rows whose text is not at hand are left out."""
    content = gzip.decompress(path.read_bytes()) if path.suffix == ".gz" else path.read_bytes()
    rows = [json.loads(line) for line in content.splitlines()]
    known = [row for row in rows if "text" in row or row["sha256"] in texts]
    return [row if "text" in row else name_words(row, texts[row["sha256"]]) for row in known]


def name_words(row: Row, text: str) -> Row:
    """A row of spans as a row of words: each element is `[[start, end], ...]` in code points of the text."""
    named = [
        {**label, **{key: "".join(text[start:end] for start, end in label[key]) for key in ELEMENTS}}
        for label in row["triplets"]
    ]
    return {"id": row["id"], "text": text, "triplets": named}


def read_texts(path: Path | None) -> dict[str, str]:
    """The texts of a CSV file by their sha256."""
    if path is None:
        return {}
    with path.open(encoding="utf-8-sig", newline="") as file:
        return {hashlib.sha256(row["text"].encode()).hexdigest()[:24]: row["text"] for row in csv.DictReader(file)}


def find_all(text: str, word: str) -> Iterator[int]:
    at = text.find(word)
    while at >= 0:
        yield at
        at = text.find(word, at + 1)


def place_core(start: int, full: str, core: str) -> tuple[Span, ...] | None:
    """The spans of a core within a phrase that begins at `start`: whole if it stands there, else in parts."""
    if (at := full.find(core)) >= 0:
        return ((start + at, start + at + len(core)),)
    spans: list[list[int]] = []
    at = 0
    for character in core:
        at = full.find(character, at)
        if at < 0:
            return None
        if spans and spans[-1][1] == start + at:
            spans[-1][1] += 1
        else:
            spans.append([start + at, start + at + 1])
        at += 1
    return tuple((first, past) for first, past in spans)


def place_triplet(text: str, label: Mapping[str, str]) -> Triplet | None:
    """The triplet where aspect and opinion stand nearest to each other, an aspect before its opinion preferred."""
    aspect_full, opinion_full = label["aspect_full"], label["opinion_full"]
    places = []
    for at, other in itertools.product(find_all(text, aspect_full), find_all(text, opinion_full)):
        before, behind = other - at - len(aspect_full), at - other - len(opinion_full)
        if before >= 0 or behind >= 0:
            places.append((before if before >= 0 else 2 * behind + 4, at, other))
    if not places:
        return None
    _, at, other = min(places)
    aspect, opinion = place_core(at, aspect_full, label["aspect"]), place_core(other, opinion_full, label["opinion"])
    if aspect is None or opinion is None:
        return None
    fulls = (((at, at + len(aspect_full)),), ((other, other + len(opinion_full)),))
    parts = [Element("".join(text[a:b] for a, b in spans), spans) for spans in (aspect, fulls[0], opinion, fulls[1])]
    polarity: Any = label["polarity"]
    return Triplet(*parts, polarity, VALENCE[polarity], source="annotation")  # type: ignore[call-arg]


def make_example(row: Row, variants: Variants) -> Example:
    """A review as the tagger reads it."""
    shown = view(row["text"], variants).text
    labels = [{**label, **{key: view(label[key], variants).text for key in ELEMENTS}} for label in row["triplets"]]
    placed = [triplet for label in labels if (triplet := place_triplet(shown, label)) is not None]
    return Example(str(row["id"]), shown, tuple(placed))


def train(rows: Sequence[Row], out: Path, seed: int, config: TaggerConfig) -> None:
    """Train on all rows and save in half precision."""
    variants = make_reader(Recipe()).lexicon.variants
    examples = [make_example(row, variants) for row in rows]
    held_labels, labels = sum(len(e.triplets) for e in examples), sum(len(row["triplets"]) for row in rows)
    print(f"{len(examples):,} reviews, {held_labels:,} of {labels:,} triplets", flush=True)
    foundation = InformedFoundation.of((example.text for example in examples), config.min_count)

    def report(done: int, total: int, note: str) -> None:
        if np.random.default_rng(done).random() < 0.01:
            print(f"{done / total:.0%} {note}", flush=True)

    with tempfile.TemporaryDirectory() as checkpoints:
        tagger = train_tagger(examples, [], config, seed, Path(checkpoints), report, foundation)
    save_half(tagger, out / str(seed))
    members = [load(path) for path in sorted(path for path in out.iterdir() if path.name.isdigit())]
    save_taggers(Taggers(tuple(member for member in members if isinstance(member, Tagger))), out)


def save_half(tagger: Tagger, out: Path) -> None:
    """Save a tagger with weights of half precision, and the digest of what is then loaded."""
    for parameter in tagger.network.parameters():
        parameter.data = parameter.data.half().float()
    save(tagger, out)
    weights = {name: tensor.half() for name, tensor in load_file(out / "weights.safetensors").items()}
    write_tensors(out / "weights.safetensors", weights, {})
    assert load(out).digest == tagger.digest, "half precision holds what was saved"


def read_all(rows: Sequence[Row], taggers: Taggers, reader: Reader) -> list[ReadReview]:
    """The reviews as rules and model read them."""
    readings = reader.read([row["text"] for row in rows])
    texts = [reading.view.text for reading in readings]
    proposals = taggers.proposals(texts)
    ruled = [reader.engine.extract(reading.doc) for reading in readings]
    return [ReadReview(*parts) for parts in zip(rows, readings, ruled, proposals, strict=True)]


def hold(engine: Engine, read: ReadReview, limits: TrustLimits) -> list[tuple[Standing, float, Triplet]]:
    """What variant E holds of a review, with how the model stands to each triplet and its score of it."""
    placed = place(limits, read.ruled, read.proposals)
    likely = [pair for pair in read.proposals if pair[0] >= limits.least]
    stays = [standing != "rejected" for standing, _ in placed]
    kept = held(engine, read.reading.doc, read.ruled, stays, likely, limits)
    return [(*where, triplet) for where, triplet in zip(place(limits, kept, read.proposals), kept, strict=True)]


def place(
    limits: TrustLimits, triplets: Sequence[Triplet], proposals: Sequence[Proposal]
) -> list[tuple[Standing, float]]:
    """How the model stands to triplets, and its scores of them."""
    panel, out = Panel(Taggers(()), limits.drop, 1.0, limits), list[tuple[Standing, float]]()
    for triplet, (label, score) in zip(triplets, panel.verdicts(seen(triplets, proposals)), strict=True):
        standing = limits.place(label, score, triplet.rule or "", triplet.polarity, triplet.margin)
        out.append(("model" if triplet.source != "rules" else standing, score))
    return out


def to_answer(triplet: Triplet, read: ReadReview) -> dict[str, str]:
    shown = to_text(triplet, read.reading.view, read.reading.text)
    return {"aspect": shown.aspect.text, "opinion": shown.opinion.text, "polarity": shown.polarity}


def score(scorer: Any, answered: Sequence[tuple[Row, Sequence[Mapping[str, str]]]]) -> tuple[float, float, float]:
    """Precision, recall and F1 in percent; a gold triplet is matched once."""
    hits = given = due = 0
    for row, answers in answered:
        left = list(row["triplets"])
        unique = [answer for i, answer in enumerate(answers) if answer not in answers[:i]]
        for answer in unique:
            match = next((gold for gold in left if scorer.match(answer, gold, True)), None)
            if match is not None:
                left.remove(match)
                hits += 1
        given, due = given + len(unique), due + len(row["triplets"])
    precision, recall = hits / max(1, given), hits / max(1, due)
    return 100 * precision, 100 * recall, 200 * precision * recall / max(1e-9, precision + recall)


def score_limits(
    scorer: Any, engine: Engine, reads: Sequence[ReadReview], limits: TrustLimits
) -> tuple[float, float, float]:
    held_all = [hold(engine, read, limits) for read in reads]
    answers = [[to_answer(t, read) for *_, t in own] for read, own in zip(reads, held_all, strict=True)]
    return score(scorer, [(read.row, own) for read, own in zip(reads, answers, strict=True)])


def is_right(scorer: Any, read: ReadReview, triplet: Triplet) -> bool:
    return any(scorer.match(to_answer(triplet, read), gold, True) for gold in read.row["triplets"])


def judge_rules(scorer: Any, reads: Sequence[ReadReview], drop: float) -> dict[str, tuple[int, int, float, float]]:
    """For each rule its triplets in which the model finds no pair, how many of these are right, and the interval of
    that share (Wilson, 90%).
    """
    counts: dict[str, list[int]] = {}
    limits = TrustLimits(drop, 1.0, 1.0, firm=99.0)
    for read in reads:
        placed = place(limits, read.ruled, read.proposals)
        for triplet, (standing, _) in zip(read.ruled, placed, strict=True):
            if standing in ("rejected", "spared"):
                own = counts.setdefault(triplet.rule or "", [0, 0])
                own[0] += 1
                own[1] += is_right(scorer, read, triplet)
    return {rule: (n, right, *wilson(right, n)) for rule, (n, right) in sorted(counts.items())}


def wilson(right: int, n: int, z: float = 1.645) -> tuple[float, float]:
    share, spread = right / n, z * z / n
    middle, half = share + spread / 2, z * (share * (1 - share) / n + spread / (4 * n)) ** 0.5
    return (middle - half) / (1 + spread), (middle + half) / (1 + spread)


def list_judged(by_rule: Mapping[str, tuple[int, int, float, float]]) -> tuple[str, ...]:
    """The rules whose triplets are wrong more often than right where the model finds no pair, for sure."""
    return tuple(rule for rule, (*_, high) in by_rule.items() if high < EVEN_ODDS and rule not in UNTAUGHT)


def choose_limits(scorer: Any, engine: Engine, reads: Sequence[ReadReview]) -> TrustLimits:
    """The limits with the best F1, one after the other, each with the best of the others so far."""
    best = TrustLimits(0.1, 0.5, 0.5, 2.0, judged=list_judged(judge_rules(scorer, reads, 0.1)))
    tries = (("drop", DROPS), ("firm", FIRMS), ("add", ADDS), ("add_unread", UNREADS), ("widen", WIDENS))
    for _ in range(2):
        for name, values in tries:
            tried = [replace(best, **{name: value}) for value in values]
            best = max(tried, key=lambda limits: score_limits(scorer, engine, reads, limits)[2])
    return best


def fit_calibration(
    scorer: Any, engine: Engine, reads: Sequence[ReadReview], limits: TrustLimits, source: str
) -> Calibration:
    """For each standing the share right by score: of what variant E holds, and of what it drops."""
    pairs: dict[Standing, list[tuple[float, bool]]] = {standing: [] for standing in STANDINGS}
    for read in reads:
        placed = place(limits, read.ruled, read.proposals)
        dropped = [(*p, t) for p, t in zip(placed, read.ruled, strict=True) if p[0] == "rejected"]
        for standing, chance, triplet in (*hold(engine, read, limits), *dropped):
            pairs[standing].append((chance, is_right(scorer, read, triplet)))
    return Calibration({standing: fit_curve(own, source) for standing, own in pairs.items()}, source)


def fit_curve(pairs: Sequence[tuple[float, bool]], source: str) -> Curve:
    """The share right by score, rising; level where there are few, or where the score is that of no pair."""
    scores, right = np.array([chance for chance, _ in pairs]), np.array([good for _, good in pairs], float)
    if len(pairs) < LEAST or np.quantile(scores, 0.75) < min(DROPS):
        return Curve(((0.0, round(float(right.mean()) if len(pairs) else 0.5, 4)),), source)
    fitted = IsotonicRegression(out_of_bounds="clip").fit(scores, right)
    knots = np.unique(np.quantile(scores, np.linspace(0, 1, min(STEPS, len(pairs) // 20))).round(4))
    return Curve(tuple((float(at), round(float(fitted.predict([at])[0]), 4)) for at in knots), source)


def recall(scorer: Any, reads: Sequence[ReadReview], polarity: str, limits: TrustLimits | None) -> float:
    """The share of a polarity's labels that the rules find, or with `limits` variant E, in percent."""
    engine = Engine(make_reader(Recipe()).lexicon, load_rules())
    hits = due = 0
    for read in reads:
        own = read.ruled if limits is None else [triplet for *_, triplet in hold(engine, read, limits)]
        answers = [to_answer(triplet, read) for triplet in own]
        wanted = [gold for gold in read.row["triplets"] if gold["polarity"] == polarity]
        hits += sum(any(scorer.match(answer, gold, True) for answer in answers) for gold in wanted)
        due += len(wanted)
    return 100 * hits / max(1, due)


def measure(
    folder: Path, rows: Sequence[Row], scorer: Any, given: TrustLimits | None, *, choose: bool, write: bool
) -> None:
    """Print the scores of rules and of both, by limits that are given, chosen, or those of the model."""
    reader = make_reader(Recipe())
    reads = read_all(rows, load_taggers(folder), reader)
    engine = Engine(reader.lexicon, load_rules())
    if choose:
        print("best:", choose_limits(scorer, engine, reads), flush=True)
    limits = given or open_model(folder, Recipe().folders).limits
    by_rule = judge_rules(scorer, reads, limits.drop)
    if given:
        limits = replace(limits, judged=list_judged(by_rule))
    print("| rule | no pair by the model | right | 90% |\n|---|---|---|---|")
    for rule, (n, right, low, high) in sorted(by_rule.items(), key=lambda item: -item[1][0]):
        may = ", judged" if rule in (limits.judged or ()) else ", untaught" if rule in UNTAUGHT else ""
        print(f"| {rule}{may} | {n} | {right / n:.0%} | {low:.0%} to {high:.0%} |")
    ruled = score(scorer, [(read.row, [to_answer(t, read) for t in read.ruled]) for read in reads])
    both = score_limits(scorer, engine, reads, limits)
    for name, values in (("rules", ruled), (f"rules and model, {limits}", both)):
        print(f"| {name} | {' / '.join(f'{value:.1f}' for value in values)} |", flush=True)
    for polarity in POLARITIES:
        shares = [recall(scorer, reads, polarity, own) for own in (None, limits)]
        print(f"recall of {polarity}: rules {shares[0]:.1f}, both {shares[1]:.1f}", flush=True)
    if write:
        source = f"{len(rows):,} reviews annotated by a language model"
        calibration = fit_calibration(scorer, engine, reads, limits, source)
        judge = {"limits": asdict(limits), "calibration": to_kept(calibration)}
        (folder / "judge.json").write_text(json.dumps(judge, indent=1) + "\n", encoding="utf-8")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    commands = parser.add_subparsers(dest="command", required=True)
    training, measuring = commands.add_parser("train"), commands.add_parser("measure")
    for command in (training, measuring):
        command.add_argument("folder", type=Path)
        command.add_argument("annotations", type=Path, nargs="+")
        command.add_argument("--texts", type=Path)
    training.add_argument("--seed", type=int, default=0, help="also the number of the member")
    training.add_argument("--epochs", type=int, default=CONFIG.epochs)
    measuring.add_argument("--scorer", type=Path, required=True)
    measuring.add_argument("--choose", action="store_true")
    measuring.add_argument("--limits", type=float, nargs=5, metavar=("DROP", "ADD", "WIDEN", "FIRM", "ADD_UNREAD"))
    measuring.add_argument("--write", action="store_true")
    options = parser.parse_args()
    csv.field_size_limit(10**9)
    texts = read_texts(options.texts)
    rows = [row for path in options.annotations for row in read_annotation(path, texts)]
    torch.set_num_threads(1)
    if options.command == "train":
        train(rows, options.folder, options.seed, replace(CONFIG, epochs=options.epochs))
    else:
        given = TrustLimits(*options.limits) if options.limits else None
        scorer = load_scorer(options.scorer, options.scorer.parent)
        measure(options.folder, rows, scorer, given, choose=options.choose, write=options.write)


if __name__ == "__main__":
    main()
