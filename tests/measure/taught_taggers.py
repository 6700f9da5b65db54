"""What labels bring as training examples of the taggers: `python tests/measure/taught_taggers.py WORKDIR COMPLETE_DIR
DIMABSA_DIR SCORER [--splits N]`.

WORKDIR is that of a build with a judge that left the complete reviews out; the other arguments are those of
decision.py. As in labels.py, 100 reviews of one half teach and the other half is scored, with weights of the decision
that saw none of them. Each tagger of variant E is trained on with the labelled reviews alone; `half` takes the mean of
its weights before and after. Prints mean precision, recall and F1 of variant E, and by how much F1 rose in each split.
"""

from __future__ import annotations

import argparse
import copy
import random
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import torch
from decision import collect, fit, load_scorer, read_examples, read_sentences, read_whole
from gain import to_answer
from labels import TEACH, write_required
from limits import ReadText, held, read_texts

from builder.engine.engine import Engine
from builder.learning.task import Example
from builder.lexicon.rules import load_rules
from builder.model.cotrain import Taggers, load_taggers
from builder.model.tagger import Tagger, learnable
from builder.model.tagger_network import TaggerNetwork
from builder.model.trust import ADD, DROP, FIRM, WIDEN
from builder.reader import Recipe, make_reader, to_view
from builder.usecases.label_sources import read_labels
from builder.usecases.lessons import change_weights, read_taught

EPOCHS, RATE, BATCH = 30, 5e-4, 8


def train_on(member: Tagger, examples: Sequence[Example], seed: int) -> Tagger:
    """The tagger after so many epochs of labelled reviews."""
    network = copy.deepcopy(member.network)
    encoder = member.foundation.make_encoder(member.config)
    windows = [window for example in examples for window in learnable(example, encoder, member.config)[0]]
    steps = EPOCHS * -(-len(windows) // BATCH)
    optimizer = torch.optim.AdamW(network.parameters(), lr=RATE, weight_decay=0.01)
    schedule = torch.optim.lr_scheduler.LambdaLR(
        optimizer, lambda step: min(1.0, (step + 1) / (0.1 * steps)) * (1 - step / steps)
    )
    draw = random.Random(seed)
    torch.manual_seed(seed)
    network.train()
    for _ in range(EPOCHS):
        draw.shuffle(windows)
        for start in range(0, len(windows), BATCH):
            optimizer.zero_grad()
            network.loss(windows[start : start + BATCH]).backward()
            torch.nn.utils.clip_grad_norm_(network.parameters(), 1.0)
            optimizer.step()
            schedule.step()
    return replace(member, network=network.eval())


def mix(before: Tagger, after: Tagger) -> Tagger:
    """A tagger whose weights are the mean of two."""
    network: TaggerNetwork = copy.deepcopy(after.network)
    old = before.network.state_dict()
    mean = {name: (value + old[name]) / 2 if value.is_floating_point() else value
            for name, value in network.state_dict().items()}  # fmt: skip
    network.load_state_dict(mean)
    return replace(after, network=network.eval())


def hold(texts: Sequence[ReadText], taggers: Taggers, engine: Engine, docs: Mapping[str, object]) -> Iterator[ReadText]:
    """The texts as these taggers read them."""
    proposals = taggers.proposals([read.view.text for read in texts])
    for read, own in zip(texts, proposals, strict=True):
        likely = [proposal for proposal in own if proposal[0] >= min(ADD, WIDEN)]
        weighed = engine.weigh(docs[read.id], [triplet for _, triplet in likely])  # type: ignore[arg-type]
        sound = [(chance, triplet) for (chance, _), triplet in zip(likely, weighed, strict=True) if triplet]
        yield replace(read, proposals=own, weighed=sound)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    for name in ("workdir", "complete", "dimabsa", "scorer"):
        parser.add_argument(name, type=Path)
    parser.add_argument("--splits", type=int, default=5)
    options = parser.parse_args()
    scorer, reader = load_scorer(options.scorer, options.complete), make_reader(Recipe())
    weights = fit(collect([*read_sentences(options.dimabsa, reader), *read_examples(reader)], reader))
    engine = Engine(reader.lexicon, change_weights(load_rules(), weights))
    whole, taggers = (
        read_whole(options.complete, scorer, reader),
        load_taggers(options.workdir / "models" / "panel" / "taggers"),
    )
    docs = {key: text.reading.doc for key, text in whole.items()}
    texts = {
        read.id: replace(read, ruled=engine.extract(docs[read.id]))
        for read in read_texts(options.complete / "texts.jsonl", taggers)
    }
    with tempfile.TemporaryDirectory() as folder:
        gold = Path(folder) / "required.jsonl"
        write_required(gold, {key: read.text for key, read in texts.items()}, scorer.gold()[0])
        taught = {review.key: review for review in read_taught(read_labels(gold).rows, gold, reader)}
    examples = {
        key: Example(
            key, texts[key].view.text, tuple(filter(None, (to_view(t, texts[key].view) for t in own.triplets)))
        )
        for key, own in taught.items()
    }
    scores: dict[str, list[dict[str, float]]] = {}
    for split in range(options.splits):
        ordered = sorted(whole)
        random.Random(split).shuffle(ordered)
        test, lessons = sorted(ordered[: len(ordered) // 2]), ordered[len(ordered) // 2 :][:TEACH]
        after = [train_on(member, [examples[key] for key in lessons], 0) for member in taggers.members]
        mixed = [mix(*pair) for pair in zip(taggers.members, after, strict=True)]
        for name, members in (("no labels", taggers.members), ("trained on", after), ("half", mixed)):
            reads = hold([texts[key] for key in test], Taggers(tuple(members)), engine, docs)
            answers = {read.id: [to_answer(t) for t in held(read, DROP, FIRM, ADD, WIDEN)] for read in reads}
            scores.setdefault(name, []).append(scorer.score(answers, True, test))
        for name, own_scores in scores.items():
            means = [sum(score[part] for score in own_scores) / len(own_scores) for part in ("P", "R", "F1")]
            gains = [round(s["F1"] - b["F1"], 1) for s, b in zip(own_scores, scores["no labels"], strict=True)]
            print(f"| {name} | {' | '.join(f'{mean:.1f}' for mean in means)} | {gains} |", flush=True)


if __name__ == "__main__":
    main()
