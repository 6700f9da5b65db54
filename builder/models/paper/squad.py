"""Pre-fine-tuning of the base on reading comprehension (paper, section 4.2: mT5 "pretrained on the DRCD").

In: a file in the SQuAD layout (data > paragraphs > context and qas > question and answers). Out: a base that has
learnt to answer a question with words of a context, in the layout `question: …  context: …` that the templates keep
to.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from builder.core.errors import InputError, ModelError
from builder.core.files import Kept, digest_file, parse_json, read_text
from builder.learning.task import Progress
from builder.models.paper.fine_tuning import fine_tune, fingerprint, make_pairs, save_base
from builder.models.paper.generate import write
from builder.models.paper.pretrained import Base, check_characters, decode, load_base
from builder.models.paper.seq2seq import Seq2SeqConfig
from builder.models.paper.templates import fold

VALID_SHARE = 0.05


@dataclass(frozen=True, slots=True)
class SquadQuestion:
    """A question, its context and every accepted answer."""

    id: str
    question: str
    context: str
    answers: tuple[str, ...]

    @property
    def text(self) -> str:
        return f"question: {self.question}  context: {self.context}"


def read_squad(path: Path) -> tuple[list[SquadQuestion], int]:
    """The questions of a file, and how many it has without an answer. InputError says where it is not in the layout."""
    fix = 'it has {"data": [{"paragraphs": […]}]}'
    try:
        articles = parse_json(read_text(path, fix))["data"]
    except (ValueError, KeyError, TypeError) as error:
        raise InputError(f"no file in the SQuAD layout: {error!r}", where=str(path), fix=fix) from error
    out: list[SquadQuestion] = []
    where = "data"
    try:
        for i, article in enumerate(articles):
            for j, paragraph in enumerate(article["paragraphs"]):
                for k, asked in enumerate(paragraph["qas"]):
                    where = f"data[{i}].paragraphs[{j}].qas[{k}]"
                    answers = tuple(
                        dict.fromkeys(str(span["text"]) for span in asked["answers"] if span["text"].strip())
                    )
                    out.append(
                        SquadQuestion(
                            str(asked["id"]), str(asked["question"]).strip(), str(paragraph["context"]), answers
                        )
                    )
    except (KeyError, TypeError, AttributeError) as error:
        raise InputError(f"not in the SQuAD layout: {error!r}", where=f"{path}:{where}") from error
    return [question for question in out if question.answers], sum(not question.answers for question in out)


@dataclass(frozen=True, slots=True)
class ExactMatch:
    """The share of questions that are answered with one of the accepted answers, folded."""

    base: Base
    config: Seq2SeqConfig
    questions: tuple[SquadQuestion, ...]

    def __call__(self, network: object, share: tuple[int, int]) -> tuple[float, float]:
        mine = self.questions[share[0] :: share[1]]
        base = replace(self.base, network=network)
        asked = [base.tokens(question.text, self.config.max_input) for question in mine]
        predicted = ((mine[i], decode(base, output.ids)) for i, output in write(base, asked, self.config))
        return sum(
            fold(text).strip() in {fold(due).strip() for due in question.answers} for question, text in predicted
        ), len(mine)


@dataclass(frozen=True, slots=True)
class Pretrained:
    """Questions trained and validated on, those without an answer, exact match (share), its epoch, cut ones."""

    train: int
    valid: int
    unanswered: int
    exact: float
    epoch: int
    cut: int


def pretrain(
    source: str, files: Sequence[Path], out: Path, config: Seq2SeqConfig, seed: int, progress: Progress | None = None
) -> Pretrained:
    """Fine-tune a base on the questions of `files` and write it to `out`; one question in twenty validates."""
    read = [read_squad(path) for path in files]
    questions, unanswered = [question for members, _ in read for question in members], sum(count for _, count in read)
    valid = [question for question in questions if _held_out(question.id, seed)]
    train = [question for question in questions if not _held_out(question.id, seed)]
    if not train:
        raise ModelError(
            f"no question with an answer among {len(questions) + unanswered}", where=", ".join(map(str, files))
        )
    base = load_base(source)
    check_characters(base, (example.context for example in train))
    pairs, cut = make_pairs(base, [(example.id, example.text, example.answers[0]) for example in train], config)
    score = ExactMatch(base.without_network(), config, tuple(valid))
    kept, unique = out.with_name(f"{out.name}.training"), fingerprint(base, pairs, config, seed)
    done = Kept(kept).find(unique, slot="done")
    if done is None or not _lies_there(out, done):
        trained = fine_tune(base, pairs, score, config, seed, kept, progress)
        save_base(base, out)
        written = {path.name: digest_file(path) for path in out.iterdir() if path.is_file()}
        facts = {"score": trained.score, "epoch": trained.epoch, "files": written}
        done = Kept(kept).put(unique, facts, slot="done")
    for path in kept.glob("*.safetensors"):  # several times the model
        path.unlink()
    return Pretrained(len(train), len(valid), unanswered, done["score"], done["epoch"], cut)


def _lies_there(out: Path, done: dict[str, Any]) -> bool:
    """Whether the model of a record lies in `out` as it was written. Records of 0.12.0 have no digests: there a
    configuration and weights must do.
    """
    if "files" not in done:
        return (out / "config.json").is_file() and any(out.glob("*.safetensors"))
    return all((out / name).is_file() and digest_file(out / name) == digest for name, digest in done["files"].items())


def _held_out(name: str, seed: int) -> bool:
    return int.from_bytes(hashlib.sha256(f"{seed}\0{name}".encode()).digest()[:6]) < VALID_SHARE * 2**48
