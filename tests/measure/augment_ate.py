"""Does augmentation help aspect term extraction: `python tests/measure/augment_ate.py DIMABSA_DIR [--share 0.1]
[--seeds 5] [--sources …] [--copies 1]`.

The setting of Li et al. (2020), tables 2 to 4, on Chinese: a BiLSTM-CRF over characters, from scratch, trained on a
share of SIGHAN 2024 training set 1 (drawn by the hash of a sentence's id) and what a method makes of that share;
tested on the validation set and the 2026 development set, and on `--second` sentences of training set 2, drawn
likewise: a set on which nothing was chosen. A candidate is used where every aspect stands in its place. bert and cbert
mask half of the tokens apart and take the best (appendix A), with label sequences; synonym replaces half of the words
that have one. `--corpus FILE`: raw reviews on which masked-seq2seq, bert and cbert are pre-trained, without the test
sentences. Prints micro precision, recall and F1 of aspect spans, mean and deviation over seeds of the tagger; F1 and
deviation on the second test set; BLEU of the new sentences against their sources; and their perplexity under
Kneser-Ney trigrams of the corpus without the training sentences (of the test sentences where there is no corpus). Each
of the `copies` sets is joined to the source by itself where `--apart` is given (table 2, averaged), else all of them
(figure 3). Other sources: `without-labels` (table 3), `r=0.3` to `r=0.7` (figure 4). `--show N` prints new sentences.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import random
import statistics
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from builder.augment import constraints, survival
from builder.augment.candidates import Mark, Method, Rewrite, Sentence, applied, moved
from builder.augment.catalogue import make_settings
from builder.augment.constraints import broken, make_trial
from builder.augment.method_settings import CBertSettings, Gpt2Settings, MaskedSeq2SeqSettings
from builder.augment.methods import gpt2, masked_seq2seq, synonym
from builder.augment.methods.replacing import load_cbert
from builder.augment.nets.transformer import padded
from builder.augment.survival import characters
from builder.augment.training import Workplace, bio, raw
from builder.core.records import Span
from builder.language import nlp
from builder.language.lexicon.resources import load_lexicon
from builder.learning.encode import batches
from builder.learning.loop import scope

Row = tuple[str, str, list[Span]]
"""Id, text, aspects as [start, end)."""
APART = CBertSettings(share=0.5, temperature=0.0)
SOURCES: dict[str, tuple[Any, Callable[..., Method]] | None] = {
    "none": None,
    "synonym": None,
    "bert": (APART, lambda *args, **more: load_cbert(*args, name="bert", **more)),
    "cbert": (APART, load_cbert),
    "gpt2": (Gpt2Settings(), gpt2.load),
    "masked-seq2seq": (MaskedSeq2SeqSettings(), masked_seq2seq.load),
    "without-labels": (MaskedSeq2SeqSettings(label_embeddings=False), masked_seq2seq.load),
    **{f"r={r}": (MaskedSeq2SeqSettings(r=r), masked_seq2seq.load) for r in (0.3, 0.4, 0.6, 0.7)},
}
PLAIN = ["none", "synonym", "bert", "cbert", "masked-seq2seq"]
Score = tuple[float, float, float]
"""Precision, recall, F1."""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--share", type=float, default=0.1)
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--sources", nargs="+", default=PLAIN, choices=list(SOURCES))
    parser.add_argument("--copies", type=int, default=1)
    parser.add_argument(
        "--second", type=int, default=600, help="so many sentences of training set 2 as another test set"
    )
    parser.add_argument("--apart", action="store_true")
    parser.add_argument(
        "--constrained",
        action="store_true",
        help="of four candidates a copy, the first that `builder augment` would keep",
    )
    parser.add_argument("--epochs", type=int, default=40)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--corpus", default="", help="raw reviews, as `builder ingest` reads them or a text a line")
    parser.add_argument(
        "--set",
        action="append",
        default=[],
        metavar="KEY=VALUE",
        help="a setting of the models, in JSON: corpus_epochs=3",
    )
    parser.add_argument("--show", type=int, default=0)
    parser.add_argument("--models", type=Path, help="a folder in which models are kept")
    options = parser.parse_args()
    every = list(training(options.folder, 1))
    train, test = chosen(every, options.share), list(testing(options.folder))
    known = {text for _, text, _ in (*every, *test)}
    second = [row for row in training(options.folder, 2) if row[1] not in known]
    tests = test, chosen(second, min(1.0, options.second / len(second)))
    made = Making(train, [row for one in tests for row in one], options)
    print(
        f"{len(train)} training sentences ({100 * options.share:.0f}%), "
        f"{' and '.join(str(len(one)) for one in tests)} test sentences, "
        f"{options.seeds} seeds, {options.epochs} epochs",
        flush=True,
    )
    print(
        "source          sentences      P      R     F1  deviation  second F1  deviation   BLEU  perplexity   seconds"
    )
    for name in options.sources:
        started = time.monotonic()
        with tempfile.TemporaryDirectory() as folder:
            sets = made.sets(name, (options.models or Path(folder)) / name.replace("=", ""))
        for row in [row for one in sets for row in one][: options.show]:
            print(f"    {marked(row)}")
        joined = (
            [[*train, *one] for one in sets]
            if options.apart and name != "none"
            else [[*train, *(row for one in sets for row in one)]]
        )
        scores, others = zip(
            *[fitted(rows, tests, seed, options) for rows in joined for seed in range(options.seeds)], strict=True
        )
        means = "".join(f"{100 * statistics.mean(one):7.2f}" for one in zip(*scores, strict=True))
        said = made.measured([row for one in sets for row in one])
        print(
            f"{name:16}{statistics.mean(map(len, joined)):9.0f}{means}{spread(scores):11.2f}"
            f"{100 * statistics.mean(one[2] for one in others):11.2f}"
            f"{spread(others):11.2f}{said}{time.monotonic() - started:10.0f}",
            flush=True,
        )


def spread(scores: Sequence[Score]) -> float:
    """The deviation of F1, in hundredths."""
    return 100 * statistics.stdev(one[2] for one in scores) if len(scores) > 1 else 0.0


def marked(row: Row) -> str:
    text, at = "", 0
    for start, end in row[2]:
        text, at = f"{text}{row[1][at:start]}[{row[1][start:end]}]", end
    return text + row[1][at:]


def training(folder: Path, number: int) -> Iterator[Row]:
    (path,) = folder.glob(f"SIGHAN2024_dimABSA_TrainingSet{number}_Traditional.json")
    for row in json.loads(path.read_text(encoding="utf-8")):
        listed = list(zip(row["Aspect"], row["AspectFromTo"], strict=True))
        spans = {
            (first - 1, last, name)
            for name, told in listed
            if name != "NULL"
            for first, last in [map(int, told.split("#"))]
        }
        right = {
            (start, end) for start, end, name in spans if start >= 0 and row["Sentence"][start:end] == name
        }  # some offsets are off
        yield row["ID"], row["Sentence"], disjoint(iter(right or placed(row["Sentence"], row["Aspect"])))


def testing(folder: Path) -> Iterator[Row]:
    """These files have no offsets: an aspect stands where its words first do."""
    (texts,) = folder.glob("SIGHAN2024_dimABSA_Validation_*_Traditional.txt")
    (truth,) = folder.glob("SIGHAN2024_dimABSA_Validation_*_truth.txt")
    told = dict(line.split(" ", 1) for line in truth.read_text(encoding="utf-8").splitlines()[1:] if " " in line)
    for line in texts.read_text(encoding="utf-8").splitlines()[1:]:
        key, text = line.split(", ", 1)
        yield key, text, placed(text, [part.split(",")[0] for part in told.get(key, "")[1:].split("(")])
    (later,) = folder.glob("dimabsa2026_restaurant_dev_polarity.jsonl")
    for row in map(json.loads, later.read_text(encoding="utf-8").splitlines()):
        yield row["ID"], row["Text"], placed(row["Text"], [one["Aspect"] for one in row["Triplet"]])


def placed(text: str, names: Sequence[str]) -> list[Span]:
    return disjoint((text.find(name), text.find(name) + len(name)) for name in {*names} - {"NULL", ""} if name in text)


def disjoint(spans: Iterator[Span]) -> list[Span]:
    """In order; of two that overlap the longer."""
    out: list[Span] = []
    for span in sorted(spans, key=lambda one: (one[0] - one[1], one[0])):
        if not any(span[0] < end and start < span[1] for start, end in out):
            out.append(span)
    return sorted(out)


def chosen(rows: Iterator[Row], share: float) -> list[Row]:
    """A share of the sentences, the same ones at every run."""
    order = sorted(rows, key=lambda row: hashlib.sha256(row[0].encode()).digest())
    return order[: max(1, round(share * len(order)))]


class Making:
    """What the methods are given, and what is measured of their sentences."""

    def __init__(self, rows: Sequence[Row], test: Sequence[Row], options: argparse.Namespace) -> None:
        lexicon = load_lexicon()
        self.cues = constraints.chinese(lexicon)
        tokens = nlp.load("embedded", lexicon.words()).annotate([text for _, text, _ in rows])
        self.options, self.texts = options, {key: text for key, text, _ in rows}
        self.given = [
            Sentence(
                key,
                text,
                tuple((one.start, one.end) for one in told if text[one.start : one.end].strip()),
                tuple(Mark(*span) for span in spans),
            )
            for (key, text, spans), told in zip(rows, tokens, strict=True)
        ]
        held = [text for _, text, _ in test]
        self.corpus = raw(options.corpus, self.given, held=held) if options.corpus else ()
        known = [one.text for one in self.corpus if one.text not in self.texts.values()] or held
        self.fluency = survival.fit(map(characters, known))

    def sets(self, name: str, folder: Path) -> list[list[Row]]:
        """`copies` sets of new sentences with aspects in their new places."""
        copies, wide = self.options.copies, 4 if self.options.constrained else 1
        out: list[list[Row]] = [[] for _ in range(copies if name != "none" else 0)]
        if out:
            for one, found in zip(
                self.given, self.method(name, folder).propose(self.given, copies * wide, 1), strict=True
            ):
                fit = [
                    candidate
                    for candidate in found
                    if wide == 1 or broken(make_trial(one, candidate, self.cues)) is None
                ]
                for listed, candidate in zip(out, fit, strict=False):
                    listed += [row] if (row := new_row(one, candidate)) else []
        return out

    def method(self, name: str, folder: Path) -> Method:
        source = SOURCES[name]
        if source is None:
            return synonym.load(make_settings({"synonym.rate": 0.5}))
        own, load = source
        changed = {
            key: json.loads(value)
            for key, _, value in (one.partition("=") for one in self.options.set)
            if hasattr(own, key)
        }
        place = Workplace(folder, threads=self.options.threads)
        if not self.corpus or not hasattr(own, "corpus"):
            return load(replace(own, **changed), self.given, place)
        return load(replace(own, corpus=self.options.corpus, **changed), self.given, place, corpus=self.corpus)

    def measured(self, made: Sequence[Row]) -> str:
        from sacrebleu.metrics.bleu import BLEU

        texts = [row[1] for row in made] or list(self.texts.values())
        told = [characters(text) for text in texts]
        bits = -sum(map(self.fluency.log2, told)) / sum(len(one) + 1 for one in told)
        score = BLEU(tokenize="zh").corpus_score(texts, [[self.texts[row[0]] for row in made] or texts]).score
        return f"{score:7.1f}{2**bits:12.1f}"


def new_row(sentence: Sentence, candidate: Rewrite) -> Row | None:
    places = [moved((mark.start, mark.end), candidate.edits) for mark in sentence.marks]
    kept = [place for place in places if place is not None]
    text = applied(sentence.text, candidate.edits)
    return (sentence.id, text, kept) if len(kept) == len(places) and text != sentence.text else None


@dataclass(frozen=True, slots=True)
class Tagged:
    ids: list[int]
    tags: list[int]


class Tagger(nn.Module):
    """BiLSTM-CRF over characters: tags O, B, I."""

    def __init__(self, size: int, width: int = 128) -> None:
        super().__init__()
        self.chars, self.dropout = nn.Embedding(size, width, padding_idx=0), nn.Dropout(0.5)
        self.lstm = nn.LSTM(width, width, batch_first=True, bidirectional=True)
        self.out, self.moves = nn.Linear(2 * width, 3), nn.Parameter(torch.zeros(3, 3))

    def scores(self, items: Sequence[Tagged]) -> tuple[Tensor, Tensor]:
        ids = padded([one.ids for one in items])
        lengths = torch.tensor([len(one.ids) for one in items])
        packed = nn.utils.rnn.pack_padded_sequence(
            self.dropout(self.chars(ids)), lengths, batch_first=True, enforce_sorted=False
        )
        states, _ = nn.utils.rnn.pad_packed_sequence(self.lstm(packed)[0], batch_first=True)
        return self.out(self.dropout(states)), torch.arange(ids.shape[1])[None] < lengths[:, None]

    def loss(self, items: Sequence[Tagged]) -> Tensor:
        """Minus the log-likelihood of the tag sequences, a sentence."""
        scores, seen = self.scores(items)
        tags = padded([one.tags for one in items])
        due = (scores.gather(2, tags[:, :, None])[:, :, 0] * seen).sum(1) + (
            self.moves[tags[:, :-1], tags[:, 1:]] * seen[:, 1:]
        ).sum(1)
        whole = scores[:, 0]
        for t in range(1, scores.shape[1]):
            grown = torch.logsumexp(whole[:, :, None] + self.moves, 1) + scores[:, t]
            whole = torch.where(seen[:, t, None], grown, whole)
        return (torch.logsumexp(whole, 1) - due).mean()

    def best(self, items: Sequence[Tagged]) -> list[list[int]]:
        scores, _ = self.scores(items)
        out = []
        for row, item in zip(scores, items, strict=True):
            value, back = row[0], []
            for t in range(1, len(item.ids)):
                value, came = (value[:, None] + self.moves).max(0)
                value, back = value + row[t], [*back, came]
            tags = [int(value.argmax())]
            for came in reversed(back):
                tags.append(int(came[tags[-1]]))
            out.append(tags[::-1])
        return out


def fitted(rows: Sequence[Row], tests: Sequence[Sequence[Row]], seed: int, options: argparse.Namespace) -> list[Score]:
    """Micro scores of spans on each of `tests`, of the epoch that is best on 150 held-out source sentences or a fifth
    of them (never augmented ones).
    """
    sources = list({row[0]: row for row in reversed(rows)}.values())  # of an id the first, which is the source
    draw = random.Random(seed)
    held = {row[0] for row in draw.sample(sources, min(150, len(sources) // 5))}
    known = {
        char: n
        for n, char in enumerate(sorted({char for row in rows if row[0] not in held for char in row[1]}), start=2)
    }
    learnt = [tagged(row, known) for row in rows if row[0] not in held and row[1]]
    steps = (
        max(1, len(sources) // 16) * options.epochs
    )  # as many steps, however many sentences: more text is not more training
    with scope(options.threads, seed):
        tagger = Tagger(len(known) + 2)
        optimizer = torch.optim.Adam(tagger.parameters(), lr=2e-3, weight_decay=1e-5)
        best, kept, done = -1.0, tagger.state_dict(), 0
        while done < steps:
            for batch in batches([len(one.ids) for one in learnt], 16 * 24, draw):
                tagger.train()
                optimizer.zero_grad()
                tagger.loss([learnt[i] for i in batch]).backward()
                nn.utils.clip_grad_norm_(tagger.parameters(), 5.0)
                optimizer.step()
                done += 1
                if (
                    done % max(1, steps // 20) == 0
                    and (score := scored(tagger, [row for row in sources if row[0] in held], known)[2]) >= best
                ):
                    best, kept = score, {name: value.clone() for name, value in tagger.state_dict().items()}
        tagger.load_state_dict(kept)
        return [scored(tagger, test, known) for test in tests]


def tagged(row: Row, known: dict[str, int]) -> Tagged:
    _, text, spans = row
    return Tagged(
        [known.get(char, 1) for char in text],
        list(bio([(i, i + 1) for i in range(len(text))], [Mark(*span) for span in spans])),
    )


def scored(tagger: Tagger, rows: Sequence[Row], known: dict[str, int]) -> Score:
    tagger.eval()
    right = said = due = 0
    with torch.inference_mode():
        for tags, (_, _, spans) in zip(tagger.best([tagged(row, known) for row in rows]), rows, strict=True):
            found = read(tags)
            right, said, due = right + len(found & {*spans}), said + len(found), due + len(spans)
    return right / max(1, said), right / max(1, due), 2 * right / max(1, said + due)


def read(tags: Sequence[int]) -> set[Span]:
    """Spans of B and the I's behind it; an I alone begins one."""
    out, start = set(), -1
    for at, tag in enumerate([*tags, 0]):
        if start >= 0 and tag != 2:
            out.add((start, at))
            start = -1
        if tag == 1 or (tag == 2 and start < 0):
            start = at
    return out


if __name__ == "__main__":
    main()
