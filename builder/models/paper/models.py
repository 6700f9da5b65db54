"""The paper profile: an ASTE model that writes its triplets and a discriminator that answers two questions (sections
3.3 and 4.2).

In: examples over views. Out: `Writer` and `Referee`, which meet the Protocols `TripletModel` and `Judge`. Both are
fine-tuned from the same base every time. What a Writer wrote is kept beside it, a line a question, with the triplets'
problems: what does not parse, and what stands nowhere in the review, is there with its reason. A second prediction of
the same model replays from it, and one that was killed goes on.
"""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from builder.core.errors import ModelError
from builder.core.records import Triplet, Verdict, aspect_text
from builder.core.wording import counted
from builder.gold.metrics import Answer, paper
from builder.learning.task import Example, Progress
from builder.models.paper.generate import weigh, write
from builder.models.paper.pretrained import Base, decode
from builder.models.paper.seq2seq import Seq2SeqConfig
from builder.models.paper.templates import (
    Asking,
    WrittenTriplet,
    judge_answers,
    judge_question,
    locate,
    parse,
    question,
    triple_of,
)


@dataclass(frozen=True, slots=True)
class WrittenAnswer:
    """An answer, how sure the model was, the triplets it says, and (reason, piece) for what is none."""

    text: str
    confidence: float
    triplets: tuple[Triplet, ...]
    problems: tuple[tuple[str, str], ...]


@dataclass(frozen=True, slots=True, eq=False)
class Writer:
    """A trained ASTE model; what it writes is kept in `folder`. `elsewhere`: who writes instead of this process."""

    base: Base
    asking: Asking
    config: Seq2SeqConfig
    digest: str
    facts: dict[str, float] = field(default_factory=dict)
    folder: Path | None = None
    elsewhere: Callable[[list[Example]], Iterator[tuple[str, float]]] | None = None

    def predict(self, texts: Sequence[str], progress: Progress | None = None) -> list[tuple[Triplet, ...]]:
        """The triplets of each text; no aspect is named to the model."""
        return self.predict_examples([Example("", text, ()) for text in texts], progress)

    def predict_examples(
        self, examples: Sequence[Example], progress: Progress | None = None
    ) -> list[tuple[Triplet, ...]]:
        """The triplets of each text; its own ones give the aspects, if the question names any."""
        return [written.triplets for written in self.answers(examples, progress)]

    @property
    def names_aspects(self) -> bool:
        """Whether the question names aspects, as it did in training."""
        return self.asking.given and self.asking.template == "2"

    def predict_named(
        self, texts: Sequence[str], aspects: Sequence[Sequence[str]], progress: Progress | None = None
    ) -> list[tuple[Triplet, ...]]:
        """The triplets of each text, asked about its `aspects` as well."""
        asked = [question(text, self.asking.template, named) for text, named in zip(texts, aspects, strict=True)]
        examples = [Example("", text, ()) for text in texts]
        return [written.triplets for written in self.answers(examples, progress, asked)]

    def answers(
        self, examples: Sequence[Example], progress: Progress | None = None, asked: Sequence[str] = ()
    ) -> list[WrittenAnswer]:
        """What the model writes about each example, where it is `asked` so, else as in training."""
        asked, kept = asked or [ask(example, self.asking) for example in examples], self._kept()
        new = {key: example for key, example in zip(asked, examples, strict=True) if key not in kept}
        for key, output in self._write(new, progress):
            kept[key] = output
        return [
            read_answer(example.text, *kept[key], self.asking) for example, key in zip(examples, asked, strict=True)
        ]

    def _write(self, new: dict[str, Example], progress: Progress | None) -> Iterator[tuple[str, tuple[str, float]]]:
        keys, examples = list(new), list(new.values())
        if self.elsewhere is not None:
            written: Iterable[tuple[int, tuple[str, float]]] = zip(
                range(len(keys)), self.elsewhere(examples), strict=True
            )
        else:
            questions = [self.base.tokens(key, self.config.max_input) for key in keys]
            outputs = write(self.base, questions, self.config, progress)
            written = ((i, (decode(self.base, output.ids), output.confidence)) for i, output in outputs)
        for i, (text, confidence) in written:
            self._keep(keys[i], text, confidence, examples[i].text)
            yield keys[i], (text, confidence)

    @property
    def artefact(self) -> Path | None:
        """The file of this model's answers under this way of asking and writing."""
        if self.folder is None:
            return None
        way = hashlib.sha256(repr((self.asking, self.config.max_input, self.config.max_output)).encode()).hexdigest()
        return self.folder / f"answers-{self.digest}-{way[:8]}.jsonl"

    def _kept(self) -> dict[str, tuple[str, float]]:
        """Answers by question. A last line that a kill cut short is written again."""
        if self.artefact is None or not self.artefact.is_file():
            return {}
        whole, _, torn = self.artefact.read_text("utf-8", "surrogatepass").rpartition("\n")
        if torn:
            self.artefact.write_text(whole + "\n" if whole else "", "utf-8", "surrogatepass")
        rows = map(json.loads, whole.splitlines())
        return {row["question"]: (row["answer"], row["confidence"]) for row in rows}

    def _keep(self, asked: str, text: str, confidence: float, review: str) -> None:
        if self.artefact is None:
            return
        problems = read_answer(review, text, confidence, self.asking).problems
        row = {"question": asked, "answer": text, "confidence": confidence, "problems": problems}
        with self.artefact.open("a", encoding="utf-8", errors="surrogatepass") as file:
            file.write(json.dumps(row, ensure_ascii=False) + "\n")


def ask(example: Example, asking: Asking) -> str:
    """The question about an example, as the model is asked."""
    named = [aspect_text(triplet) for triplet in example.triplets] if asking.given and asking.template == "2" else []
    return question(example.text, asking.template, named)


def read_answer(text: str, answer: str, confidence: float, asking: Asking) -> WrittenAnswer:
    """An answer about a text, read: triplets at their places, in text order, each once; and all that is none."""
    parsed = parse(answer, asking.template)
    located = [(written, locate(text, written, "writer", confidence)) for written in parsed.triplets]
    problems = [
        *parsed.problems,
        *((outcome, "：".join(written[:2])) for written, outcome in located if isinstance(outcome, str)),
    ]
    triplets = {triplet.key: triplet for _, triplet in reversed(located) if isinstance(triplet, Triplet)}
    ordered = sorted(triplets.values(), key=lambda t: (min(t.aspect.start, t.opinion.start), t.key))
    return WrittenAnswer(answer, confidence, tuple(ordered), tuple(problems))


def problem_counts(folder: Path) -> dict[str, int]:
    """What in the kept answers of a model's folder is no triplet: how often, by reason."""
    lines = (
        line
        for path in sorted(folder.glob("answers-*.jsonl"))
        for line in path.read_text("utf-8", "surrogatepass").splitlines()
    )
    return dict(sorted(Counter(reason for line in lines for reason, _ in json.loads(line)["problems"]).items()))


@dataclass(frozen=True, slots=True)
class AnswerScore:
    """The example-based F1 of section 4.2.2 on validation examples, a sum over reviews."""

    base: Base
    asking: Asking
    config: Seq2SeqConfig
    examples: tuple[Example, ...]

    def __call__(self, network: object, share: tuple[int, int]) -> tuple[float, float]:
        mine = self.examples[share[0] :: share[1]]
        model = Writer(replace(self.base, network=network), self.asking, self.config, "")
        gold, written_triples = dict[str, list[Answer]](), dict[str, list[Answer]]()
        for number, (example, written) in enumerate(zip(mine, model.answers(mine), strict=True)):
            gold[str(number)] = [triple_of(triplet) for triplet in example.triplets]
            written_triples[str(number)] = [triple_of(triplet) for triplet in written.triplets]
        return paper(gold, written_triples).f1 / 100 * len(mine), len(mine)


@dataclass(frozen=True, slots=True, eq=False)
class Referee:
    """A trained discriminator."""

    base: Base
    config: Seq2SeqConfig
    digest: str
    facts: dict[str, float] = field(default_factory=dict)

    def classify(
        self, items: Sequence[Example], progress: Progress | None = None
    ) -> list[tuple[tuple[Verdict | None, float], ...]]:
        """Per item and triplet the most probable of the three answers, and the probability of YY among them."""
        flat = [(item.text, triple_of(triplet)) for item in items for triplet in item.triplets]
        chances = iter(self.chances(flat, progress))
        rows = ((max(chance, key=lambda verdict: chance[verdict]), round(chance["YY"], 4)) for chance in chances)
        return [tuple(next(rows) for _ in item.triplets) for item in items]

    def chances(
        self, flat: Sequence[tuple[str, WrittenTriplet]], progress: Progress | None = None
    ) -> list[dict[Verdict, float]]:
        """The probabilities of the three answers about each (text, triplet)."""
        order: tuple[Verdict, ...] = ("YY", "YN", "NX")
        asked = []
        for text, triplet in flat:
            answers = judge_answers(triplet)
            due = [self.base.tokens(answers[verdict], self.config.max_output) for verdict in order]
            asked.append((self.base.tokens(judge_question(text, triplet), self.config.max_input), due))
        out: list[dict[Verdict, float]] = [{}] * len(flat)
        for i, chances in weigh(self.base, asked, self.config, progress):
            out[i] = dict(zip(order, chances, strict=True))
        return out


@dataclass(frozen=True, slots=True)
class VerdictScore:
    """The accuracy on validation triplets (section 4.2.1, appendix 11.1)."""

    base: Base
    config: Seq2SeqConfig
    items: tuple[tuple[Example, tuple[Verdict, ...]], ...]

    def __call__(self, network: object, share: tuple[int, int]) -> tuple[float, float]:
        mine = self.items[share[0] :: share[1]]
        verdicts = Referee(replace(self.base, network=network), self.config, "").classify(
            [example for example, _ in mine]
        )
        right = sum(
            label == due
            for labels, (_, wanted) in zip(verdicts, mine, strict=True)
            for (label, _), due in zip(labels, wanted, strict=True)
        )
        return right, sum(len(wanted) for _, wanted in mine)


def settings(kind: str, numbers: Mapping[str, object], asking: Mapping[str, object]) -> str:
    """What besides the weights makes a model what it is, for its digest."""
    return json.dumps({"kind": kind, "config": numbers, "asking": asking}, sort_keys=True)


def nothing_to_learn(count: int, what: str) -> ModelError:
    """The error for training items from which nothing can be learnt."""
    return ModelError(
        f"no {what} in {counted(count, 'training item')}", where="paper profile", fix="train on reviews with triplets"
    )
