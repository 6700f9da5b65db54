"""How rules and the shipped reader are weighed: `python tests/measure/pack_model.py MODEL ANNOTATION... [--fit]`.

An annotation is a file of JSON lines, a review each: `id`, `text`, and all `triplets` with `aspect`, `aspect_full`,
`opinion`, `opinion_full` and `polarity`; or with `sha256` and spans in place of texts, which are then looked up in the
CSV file `--texts`. Scores rules, and both together, on reviews that the reader has not seen, and says for each rule
how often the triplets are right in which the reader finds no pair. `--fit` fits the weights of both and the curves of
confidence, chooses the limit by cross-validation, and writes all that into the model's folder. Of several annotations
of the same reviews each counts; a review is in one fold. What chose them is no test of them. With `--alone` the rules
find nothing, so what is fitted and scored is the reader; MODEL is then a folder of its own.
"""

from __future__ import annotations

import argparse
import csv
import gzip
import hashlib
import itertools
import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import torch
from decision import load_scorer
from packed import pack_weights
from sklearn.isotonic import IsotonicRegression
from sklearn.linear_model import LogisticRegression
from sklearn.preprocessing import StandardScaler

from builder.core.records import POLARITIES, Element, Span, Triplet
from builder.engine import RuleEngine
from builder.engine.reader import Reader, Reading, Recipe, make_reader, to_text, to_view
from builder.language.lexicon.folders import Folders
from builder.language.lexicon.packs import JUDGE
from builder.learning.checkpoint import unpack_weights, write_tensors
from builder.learning.task import VALENCE, Example
from builder.models.combiner import Combiner, describe_all, held, origin_of
from builder.models.saved import load, save
from builder.models.shipped import Shares, label_shares, open_model, open_reader, read_items, reader_digest, seen
from builder.models.tagger import Tagger
from builder.models.text_reading import Proposal, TextReader, TextReading
from builder.models.trust import STANDINGS, Calibration, Curve, Placed, Standing, TrustLimits, to_kept
from builder.reviews.script import Variants
from builder.reviews.text import view

SHRINK, FOLDS, HELDS = 0.1, 5, (0.3, 0.35, 0.4, 0.45, 0.5)
UNJUDGED = ("absent-object", "left-out-object", "mistaken-object")
"""Rules of what is missing, left out or mistaken. Annotators label few such triplets, so the reader knows none; where
raw reviews were read, most of those that it dropped were right.
"""
STEPS = 12
"""Knots of a curve."""
BINS = (0.0, 0.5, 0.6, 0.7, 0.8, 0.9)
LEAST, LOW = 40, 0.03
"""Triplets that a curve of several knots needs; scores below are those of no pair."""
LATER = re.compile("_(?:second|third|settled)(?=[.]jsonl)")
"""The ending of a file's name that annotates the reviews of another file once more."""
ELEMENTS = ("aspect", "aspect_full", "opinion", "opinion_full")
Row = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class ReadReview:
    """A review with its gold, as rules and model read it."""

    row: Row
    reading: Reading
    ruled: tuple[Triplet, ...]
    shown: TextReading
    shares: Shares
    proposals: Sequence[Proposal]


def read_annotation(path: Path, texts: Mapping[str, str]) -> list[Row]:
    """The rows of a file, gzipped or not, with their texts; rows whose text is not at hand are left out. A later
    annotation finds texts in the first too.
    """
    rows = read_rows(path)
    if LATER.search(path.name):
        first = read_rows(path.with_name(LATER.sub("", path.name)))
        texts = {**texts, **{digest_of(row["text"]): row["text"] for row in first if "text" in row}}
    known = [row for row in rows if "text" in row or row["sha256"] in texts]
    return [row if "text" in row else name_words(row, texts[row["sha256"]]) for row in known]


def read_rows(path: Path) -> list[Row]:
    """The rows as they stand."""
    content = gzip.decompress(path.read_bytes()) if path.suffix == ".gz" else path.read_bytes()
    return [json.loads(line) for line in content.splitlines()]


def digest_of(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:24]


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
        return {digest_of(row["text"]): row["text"] for row in csv.DictReader(file)}


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
    """The triplet where aspect and opinion stand nearest to each other, an aspect before its opinion preferred. Where
    the longest forms overlap (冷掉 and 冷掉的炸物), cores take the place of one or both.
    """
    forms = (dict.fromkeys((label[f"{name}_full"], label[name])) for name in ("aspect", "opinion"))
    placed = (place_pair(text, *pair, label) for pair in itertools.product(*forms))
    return next((triplet for triplet in placed if triplet is not None), None)


def place_pair(text: str, aspect_full: str, opinion_full: str, label: Mapping[str, str]) -> Triplet | None:
    """The same with these as longest forms; None if the text lacks one, they overlap, or a core is no part of one."""
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
    """A review as the tagger reads it. Labels are found in the text as it was written: a word alone does not tell its
    script, so it may be converted otherwise than within its text (面 of 面很劲道).
    """
    shown = view(row["text"], variants)
    placed = [triplet for label in row["triplets"] if (triplet := place_triplet(row["text"], label)) is not None]
    return Example(str(row["id"]), shown.text, tuple(own for own in (to_view(t, shown) for t in placed) if own))


def save_packed(tagger: Tagger, out: Path) -> None:
    """Save a tagger with packed weights, and the digest of what is then loaded."""
    weights = tagger.network.state_dict()
    packed = pack_weights(weights, name_beginnings(weights, tagger.config.marker_layers))
    tagger.network.load_state_dict(unpack_weights(packed))
    save(tagger, out)
    write_tensors(out / "weights.safetensors", packed, {})
    assert load(out).digest == tagger.digest, "the packed weights hold what was saved"


def name_beginnings(names: Iterable[str], layers: int) -> dict[str, str]:
    """By the names of the markers' matrices, those of the encoder's that they began as."""
    encoder = "trunk.encoder.encoder.layer."
    known = {name: int(name.removeprefix(encoder).split(".")[0]) for name in names if name.startswith(encoder)}
    lowest = max(known.values(), default=-1) + 1 - layers
    assert lowest >= 0 or not layers, "markers have layers that the encoder has not"
    return {
        f"markers.layers.{number - lowest}.{name.removeprefix(encoder).split('.', 1)[1]}": name
        for name, number in known.items()
        if number >= lowest and name.endswith("weight") and "LayerNorm" not in name
    }


def read_all(rows: Sequence[Row], model: TextReader, reader: Reader) -> list[ReadReview]:
    """The reviews as rules and model read them."""
    readings = reader.read([row["text"] for row in rows])
    ruled = [reader.engine.extract(reading.doc) for reading in readings]
    shown = read_items(model, [Example("", one.view.text, own) for one, own in zip(readings, ruled, strict=True)])
    read = [ReadReview(*parts, np.zeros((0, 3)), ()) for parts in zip(rows, readings, ruled, shown, strict=True)]
    return weigh_all(read, None)


def weigh_all(reads: Sequence[ReadReview], combiner: Combiner | None) -> list[ReadReview]:
    """The same with what the reader says, by a combiner if there is one."""
    out = []
    for read in reads:
        if combiner:
            shares, proposals = combiner.read_review(read.ruled, read.shown)
        else:
            shares, proposals = seen(read.ruled, read.shown.proposals), read.shown.proposals
        out.append(replace(read, shares=shares, proposals=proposals))
    return out


def fit_combiner(scorer: Any, reads: Sequence[ReadReview]) -> Combiner:
    """The weights that tell right triplets of rules and reader from wrong ones."""
    described, right = [], []
    for read in reads:
        for triplet, numbers in describe_all(read.ruled, read.shown):
            described.append(numbers)
            right.append(is_right(scorer, read, triplet))
    scaler = StandardScaler()
    scaled = scaler.fit_transform(np.array(described))
    fitted = LogisticRegression(C=SHRINK, max_iter=1000).fit(scaled, np.array(right))
    weights = fitted.coef_[0] / scaler.scale_
    offset = float(fitted.intercept_[0] - weights @ scaler.mean_)
    return Combiner(tuple(map(float, weights.round(4))), round(offset, 4))


def combine(
    scorer: Any, engine: RuleEngine, reads: Sequence[ReadReview], dropped: float, limit: float | None
) -> tuple[Combiner, TrustLimits]:
    """A combiner, and the limit with the best F1 on reviews that it was not fitted on, or the `limit` that is given."""
    fold_of = {name: n % FOLDS for n, name in enumerate(dict.fromkeys(read.row["id"] for read in reads))}
    crossed = list[ReadReview]()
    for fold in range(FOLDS):
        held_out = [read for read in reads if fold_of[read.row["id"]] == fold]
        combiner = fit_combiner(scorer, [read for read in reads if fold_of[read.row["id"]] != fold])
        crossed += weigh_all(held_out, combiner)
    judged = tuple(sorted({t.rule or "" for read in reads for t in read.ruled} - set(UNJUDGED)))
    tried = [TrustLimits(limit, round(dropped * limit, 4), judged) for limit in HELDS]
    scores = [score_limits(scorer, engine, crossed, limits)[2] for limits in tried]
    print("limits:", *(f"{limits.limit} {f1:.2f}" for limits, f1 in zip(tried, scores, strict=True)), flush=True)
    chosen = HELDS.index(limit) if limit else int(np.argmax(scores))
    return fit_combiner(scorer, reads), tried[chosen]


def hold(engine: RuleEngine, read: ReadReview, limits: TrustLimits) -> list[tuple[Standing, float, Triplet]]:
    """What variant E holds of a review, with how the model stands to each triplet and its score of it."""
    placed = place(limits, read.ruled, read.shares)
    likely = [pair for pair in read.proposals if pair[0] >= limits.least]
    kept = held(engine, read.reading.doc, read.ruled, placed, likely, limits)
    known = {triplet.key: where for triplet, where in zip(read.ruled, placed, strict=True)}
    staying = [triplet for triplet, (standing, _) in zip(read.ruled, placed, strict=True) if standing != "rejected"]

    def locate(triplet: Triplet) -> Placed:
        if origin := origin_of(triplet, staying):
            return known[origin.key]
        return place(limits, [triplet], seen([triplet], read.proposals))[0]

    return [(*locate(triplet), triplet) for triplet in kept]


def place(limits: TrustLimits, triplets: Sequence[Triplet], shares: Shares) -> list[Placed]:
    """How the model stands to triplets, and its scores of them."""
    out = list[Placed]()
    for triplet, (_, score) in zip(triplets, label_shares(shares, limits.dropped), strict=True):
        standing = limits.place(score, triplet.rule or "", triplet.polarity)
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
    scorer: Any, engine: RuleEngine, reads: Sequence[ReadReview], limits: TrustLimits
) -> tuple[float, float, float]:
    held_all = [hold(engine, read, limits) for read in reads]
    answers = [[to_answer(t, read) for *_, t in own] for read, own in zip(reads, held_all, strict=True)]
    return score(scorer, [(read.row, own) for read, own in zip(reads, answers, strict=True)])


def is_right(scorer: Any, read: ReadReview, triplet: Triplet) -> bool:
    return any(scorer.match(to_answer(triplet, read), gold, True) for gold in read.row["triplets"])


def judge_rules(
    scorer: Any, reads: Sequence[ReadReview], limit: float, annotators: int
) -> dict[str, tuple[int, int, float, float]]:
    """For each rule its triplets in which the model finds no pair, how many of these are right, and the interval of
    that share (Wilson, 90%). Each counts once for each of the annotators; the interval is that of one.
    """
    counts: dict[str, list[int]] = {}
    limits = TrustLimits(limit, limit, ())
    for read in reads:
        placed = place(limits, read.ruled, read.shares)
        for triplet, (standing, _) in zip(read.ruled, placed, strict=True):
            if standing in ("rejected", "spared"):
                own = counts.setdefault(triplet.rule or "", [0, 0])
                own[0] += 1
                own[1] += is_right(scorer, read, triplet)
    return {
        rule: (n, right, *wilson(right / annotators, n / annotators)) for rule, (n, right) in sorted(counts.items())
    }


def wilson(right: float, n: float, z: float = 1.645) -> tuple[float, float]:
    share, spread = right / n, z * z / n
    middle, half = share + spread / 2, z * (share * (1 - share) / n + spread / (4 * n)) ** 0.5
    return (middle - half) / (1 + spread), (middle + half) / (1 + spread)


def fit_calibration(
    scorer: Any, engine: RuleEngine, reads: Sequence[ReadReview], limits: TrustLimits, source: str
) -> Calibration:
    """For each standing the share right by score: of what variant E holds, and of what it drops."""
    pairs: dict[Standing, list[tuple[float, bool]]] = {standing: [] for standing in STANDINGS}
    for read in reads:
        placed = place(limits, read.ruled, read.shares)
        dropped = [(*p, t) for p, t in zip(placed, read.ruled, strict=True) if p[0] == "rejected"]
        for standing, chance, triplet in (*hold(engine, read, limits), *dropped):
            pairs[standing].append((chance, is_right(scorer, read, triplet)))
    return Calibration({standing: fit_curve(own, source) for standing, own in pairs.items()}, source)


def fit_curve(pairs: Sequence[tuple[float, bool]], source: str) -> Curve:
    """The share right by bin of scores, rising; level where there are few, or where the score is that of no pair."""
    scores, right = np.array([chance for chance, _ in pairs]), np.array([good for _, good in pairs], float)
    if len(pairs) < LEAST or np.quantile(scores, 0.75) < LOW:
        return Curve(((0.0, round(float(right.mean()) if len(pairs) else 0.5, 4)),), source)
    parts = np.array_split(np.argsort(scores, kind="stable"), min(STEPS, len(pairs) // 20))
    at, share = (np.array([values[part].mean() for part in parts]) for values in (scores, right))
    rising = IsotonicRegression().fit_transform(at, share)
    return Curve(tuple(zip(at.round(4).tolist(), rising.round(4).tolist(), strict=True)), source)


def bin_confidence(
    scorer: Any, engine: RuleEngine, reads: Sequence[ReadReview], limits: TrustLimits, calibration: Calibration
) -> Iterator[tuple[float, int, float, float]]:
    """Of what variant E holds, for each bin of confidence: where it begins, triplets, mean confidence, share right."""
    bins: dict[float, list[tuple[float, bool]]] = {}
    for read in reads:
        for standing, chance, triplet in hold(engine, read, limits):
            confidence = calibration.rate(standing, chance)
            first = max(edge for edge in BINS if edge <= confidence)
            bins.setdefault(first, []).append((confidence, is_right(scorer, read, triplet)))
    for first, own in sorted(bins.items()):
        stated, right = np.mean(own, axis=0).tolist()
        yield first, len(own), stated, right


def recall(
    scorer: Any, engine: RuleEngine, reads: Sequence[ReadReview], polarity: str, limits: TrustLimits | None
) -> float:
    """The share of a polarity's labels that the rules find, or with `limits` variant E, in percent."""
    hits = due = 0
    for read in reads:
        own = read.ruled if limits is None else [triplet for *_, triplet in hold(engine, read, limits)]
        answers = [to_answer(triplet, read) for triplet in own]
        wanted = [gold for gold in read.row["triplets"] if gold["polarity"] == polarity]
        hits += sum(any(scorer.match(answer, gold, True) for answer in answers) for gold in wanted)
        due += len(wanted)
    return 100 * hits / max(1, due)


def measure(
    folder: Path,
    domain: str,
    rows: Sequence[Row],
    scorer: Any,
    *,
    fit: bool,
    dropped: float,
    limit: float | None,
    alone: bool,
) -> None:
    """Print the scores of rules and of both; with `fit`, weigh them anew before, and write that down."""
    reader = make_reader(Recipe(folders=Folders(domain=domain)))
    own_reader = open_reader()
    known = {row["id"]: row for row in rows}
    once = dict(zip(known, read_all([*known.values()], own_reader, reader), strict=True))
    reads, engine = [replace(once[row["id"]], row=row) for row in rows], reader.engine
    annotators = len(rows) // len(known)
    if alone:
        reads = [replace(read, ruled=()) for read in reads]
    if fit:
        (combiner, limits), calibration = combine(scorer, engine, reads, dropped, limit), None
    else:
        model = open_model(folder)
        combiner, limits, calibration = model.combiner, model.limits, model.calibration
    print(combiner, limits, flush=True)
    reads = weigh_all(reads, combiner)
    by_rule = judge_rules(scorer, reads, limits.limit, annotators)
    print("| rule | no pair by the model | right | 90% |\n|---|---|---|---|")
    for rule, (n, right, low, high) in sorted(by_rule.items(), key=lambda item: -item[1][0]):
        print(f"| {rule} | {n} | {right / n:.0%} | {low:.0%} to {high:.0%} |")
    ruled = score(scorer, [(read.row, [to_answer(t, read) for t in read.ruled]) for read in reads])
    both = score_limits(scorer, engine, reads, limits)
    for name, values in (("rules", ruled), ("rules and model", both)):
        print(f"| {name} | {' / '.join(f'{value:.1f}' for value in values)} |", flush=True)
    for polarity in POLARITIES:
        shares = [recall(scorer, engine, reads, polarity, own) for own in (None, limits)]
        print(f"recall of {polarity}: rules {shares[0]:.1f}, both {shares[1]:.1f}", flush=True)
    for first, many, stated, share in bin_confidence(scorer, engine, reads, limits, calibration) if calibration else ():
        print(f"| from {first} | {many} | stated {stated:.1%} | right {share:.1%} |", flush=True)
    if fit:
        who = "a language model" if annotators == 1 else f"{annotators} language models"
        source = f"{len(known):,} reviews annotated by {who}"
        calibration = fit_calibration(scorer, engine, reads, limits, source)
        judge = {"limits": asdict(limits), "calibration": to_kept(calibration), "combiner": combiner.kept}
        judge |= {"reader": reader_digest(own_reader)}
        (folder / JUDGE).write_text(json.dumps(judge, indent=1) + "\n", encoding="utf-8")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("annotations", type=Path, nargs="+")
    parser.add_argument("--texts", type=Path)
    parser.add_argument("--domain", default="restaurant")
    parser.add_argument("--scorer", type=Path, required=True)
    parser.add_argument("--fit", action="store_true")
    parser.add_argument("--dropped", type=float, default=2 / 3, help="of the limit, below which a rule's triplet goes")
    parser.add_argument("--limit", type=float, choices=HELDS, help="the limit, where other annotation chose it")
    parser.add_argument("--alone", action="store_true", help="the reader without the rules")
    options = parser.parse_args()
    csv.field_size_limit(10**9)
    texts = read_texts(options.texts)
    rows = [row for path in options.annotations for row in read_annotation(path, texts)]
    torch.set_num_threads(1)
    scorer = load_scorer(options.scorer, options.scorer.parent)
    chosen = {name: getattr(options, name) for name in ("fit", "dropped", "limit", "alone")}
    measure(options.folder, options.domain, rows, scorer, **chosen)


if __name__ == "__main__":
    main()
