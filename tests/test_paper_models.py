"""The models of the paper profile: loading and its errors, writing and judging, and what is kept on disk."""

from __future__ import annotations

import json
import math
import re
import shutil
import sys
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import pytest
import torch
from tiny_mt5 import REVIEWS, TOLD, make_base, make_tokenizer, triplet

from builder.core.errors import InputError, ModelError, install_command
from builder.learning.checkpoint import tensor_digest, weights_of
from builder.learning.hub import quiet
from builder.learning.task import Example, JudgedReview, discriminator_data
from builder.models.kinds import load_extractor, load_judge
from builder.models.paper.fine_tuning import load, save, save_base, train_referee, train_writer
from builder.models.paper.generate import write
from builder.models.paper.models import AnswerScore, Referee, Writer, problem_counts, settings
from builder.models.paper.pretrained import Base, check_characters, decode, load_base
from builder.models.paper.seq2seq import Seq2SeqConfig
from builder.models.paper.squad import pretrain, read_squad
from builder.models.paper.templates import Asking, judge_answers, judge_question, triple_of
from builder.models.serving import MAX_UNKNOWN

CONFIG = Seq2SeqConfig(epochs=1, max_output=40, batch_tokens=600, threads=1)
EXAMPLES = [
    Example(f"r{i}", text, tuple(triplet(text, one) for one in told))
    for i, (text, told) in enumerate(zip(REVIEWS, TOLD, strict=True))
]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_base(tmp_path_factory.mktemp("base"))


@pytest.fixture(scope="module")
def writer(folder: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    to = tmp_path_factory.mktemp("writer")
    made = train_writer(EXAMPLES, EXAMPLES[:2], str(folder), Asking(), CONFIG, 3, to / "training")
    save(made, to / "model")
    return to / "model"


@pytest.fixture(scope="module")
def referee(folder: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    to = tmp_path_factory.mktemp("referee")
    judged = [discriminator_data(example, 1) for example in EXAMPLES[:3]]
    made = train_referee(judged, judged[:1], str(folder), replace(CONFIG, max_output=64), 3, to / "training")
    save(made, to / "model")
    return to / "model"


def copied(folder: Path, to: Path) -> Path:
    shutil.copytree(folder, to)
    return to


def test_a_fresh_model_starts_at_the_loss_of_a_guess(folder: Path) -> None:
    """transformers ties mT5's output to embeddings without T5's factor: the loss would be several times as high."""
    base = load_base(str(folder))
    ids = torch.tensor([base.tokens(text, 20)[:12] for text in REVIEWS])
    loss = float(base.network(input_ids=ids, labels=ids).loss.detach())
    assert loss == pytest.approx(math.log(base.network.config.vocab_size), rel=0.2)


def untied(folder: Path, to: Path) -> Path:
    from safetensors.torch import load_file, save_file

    copied(folder, to)
    tensors = load_file(to / "model.safetensors")
    tensors["lm_head.weight"] = (
        torch.randn(tensors["shared.weight"].shape, generator=torch.Generator().manual_seed(1)) / 8
    )
    save_file(tensors, to / "model.safetensors", {"format": "pt"})
    return to


def test_an_output_layer_of_its_own_survives_loading_and_saving(folder: Path, tmp_path: Path) -> None:
    """mT5's published weights have one, while transformers 5 says of every mT5 that its output is tied."""
    own = untied(folder, tmp_path / "own")
    base = load_base(str(own))
    assert not torch.equal(base.network.lm_head.weight, base.network.shared.weight)
    save_base(base, tmp_path / "again")
    again = load_base(str(tmp_path / "again"))
    assert torch.equal(again.network.lm_head.weight, base.network.lm_head.weight)
    assert torch.equal(again.network.shared.weight, base.network.shared.weight)


def shorten(folder: Path) -> None:
    path = folder / "model.safetensors"
    path.write_bytes(path.read_bytes()[:-2000])


def other_architecture(folder: Path) -> None:
    config = json.loads((folder / "config.json").read_text())
    (folder / "config.json").write_text(json.dumps({"model_type": "bert", "vocab_size": config["vocab_size"]}))


def fewer_weights(folder: Path) -> None:
    from safetensors.torch import load_file, save_file

    tensors = load_file(folder / "model.safetensors")
    tensors.pop("encoder.final_layer_norm.weight")
    save_file(tensors, folder / "model.safetensors", {"format": "pt"})


def another_size(folder: Path) -> None:
    config = json.loads((folder / "config.json").read_text())
    (folder / "config.json").write_text(json.dumps({**config, "d_ff": config["d_ff"] * 2}))


@pytest.mark.parametrize(
    ("harm", "error"),
    [
        (shorten, "the weights cannot be read, cut short perhaps: .*; fetch the model again"),
        (other_architecture, "a 'bert' model is no encoder-decoder; use one such as google/mt5-base"),
        (fewer_weights, "1 weights are missing or of another shape, encoder.final_layer_norm.weight for one"),
        (another_size, "weights are missing or of another shape|cannot be read"),
        (lambda at: (at / "model.safetensors").unlink(), "the weights cannot be read, cut short perhaps: .*"),
        (lambda at: (at / "config.json").unlink(), "no model here: there is no config.json; name a model's folder"),
        (lambda at: (at / "config.json").write_text("{"), "no readable model config"),
        (lambda at: (at / "config.json").write_text('{"model_type": "no such thing"}'), "no readable model config"),
        (
            lambda at: [(at / name).unlink() for name in ("spiece.model", "tokenizer_config.json")],
            "no tokenizer|does not know",
        ),
    ],
)
def test_a_model_that_cannot_serve_says_why(
    folder: Path, tmp_path: Path, harm: Callable[[Path], object], error: str
) -> None:
    broken = copied(folder, tmp_path / "broken")
    harm(broken)
    with pytest.raises(ModelError, match=error) as raised:
        train_writer(EXAMPLES, (), str(broken), Asking(), CONFIG, 3, tmp_path / "training")
    assert str(broken) in str(raised.value)


@pytest.mark.parametrize("name", ["/no/such/folder", "./none"])
def test_a_path_that_is_no_folder_is_not_asked_for_at_a_hub(name: str) -> None:
    with pytest.raises(ModelError, match=r"no model here"):
        load_base(name)


def test_a_name_that_no_hub_gives_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_OFFLINE", True)
    with pytest.raises(ModelError, match="builder-tests/no-such-model: no folder here, and not in the hub's cache"):
        load_base("builder-tests/no-such-model")


def test_a_tokenizer_without_the_needed_characters_reports_their_share(folder: Path) -> None:
    base = load_base(str(folder))
    assert check_characters(base, REVIEWS) == 0
    message = f"does not know 50.0% of the reviews' characters, 龘龖 for example (at most {100 * MAX_UNKNOWN:.0f}%)"
    with pytest.raises(ModelError, match=re.escape(message)):
        check_characters(base, ["牛肉麵龘", "龘龖 "])


def test_a_tokenizer_that_cannot_write_the_templates_is_an_error(folder: Path, tmp_path: Path) -> None:
    broken = copied(folder, tmp_path / "broken")
    import tiny_mt5

    lines = tiny_mt5.wording
    try:
        tiny_mt5.wording = lambda: [line.replace("評", "品") for line in lines()]
        make_tokenizer(broken)
    finally:
        tiny_mt5.wording = lines
    base = load_base(str(folder))
    with quiet():
        from transformers import AutoTokenizer

        other = Base.of(base.network, AutoTokenizer.from_pretrained(broken), "here")
    with pytest.raises(
        ModelError, match="here: the tokenizer does not know 評, which questions and answers are written with"
    ):
        check_characters(other, REVIEWS)


def test_loading_is_silent_and_leaves_the_librarys_logging_as_it_was(
    folder: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    from transformers.utils import logging

    before = logging.get_verbosity(), logging.is_progress_bar_enabled()
    load_base(str(folder))
    assert capfd.readouterr() == ("", "")
    assert (logging.get_verbosity(), logging.is_progress_bar_enabled()) == before


def test_no_triplet_to_learn_from_is_an_error(folder: Path, tmp_path: Path) -> None:
    with pytest.raises(ModelError, match="no triplet in 1 training item; train on reviews with triplets"):
        train_writer([Example("a", "湯", ())], (), str(folder), Asking(), CONFIG, 3, tmp_path)
    with pytest.raises(ModelError, match="no judged triplet in 1 training item;"):
        train_referee([JudgedReview("a", "湯", ())], (), str(folder), CONFIG, 3, tmp_path)


def test_a_writers_nonsense_is_kept_with_reasons(writer: Path, tmp_path: Path) -> None:
    model = load(writer)
    assert isinstance(model, Writer)
    model = replace(model, folder=tmp_path)
    written = model.answers(EXAMPLES)
    assert sum(len(one.problems) for one in written) == sum(problem_counts(tmp_path).values()) > 0
    assert model.artefact is not None
    rows = [json.loads(line) for line in model.artefact.read_text().splitlines()]
    assert {row["answer"] for row in rows} == {one.text for one in written}


def test_the_confidence_is_the_mean_probability_of_the_tokens(writer: Path) -> None:
    model = load(writer)
    base, asked = model.base, model.base.tokens("question: 請問  context: 湯很好喝", 99)
    ((_, output),) = write(base, [asked], CONFIG)
    ids = torch.tensor([[*output.ids, base.eos][: CONFIG.max_output]])
    logs = (
        base.network(input_ids=torch.tensor([asked]), labels=ids).logits.log_softmax(-1).gather(-1, ids.unsqueeze(-1))
    )
    assert output.confidence == pytest.approx(float(logs.mean().exp().detach()), rel=1e-3)


def test_the_batch_and_the_order_change_nothing_of_what_is_written(writer: Path) -> None:
    model = load(writer)
    together = replace(model, folder=None).answers(EXAMPLES)
    alone = replace(model, folder=None, config=replace(model.config, generate_tokens=1)).answers(EXAMPLES[::-1])
    assert [one.text for one in together] == [one.text for one in alone[::-1]]


def test_out_of_memory_while_writing_halves_the_batch_and_changes_nothing(
    writer: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    model = load(writer)
    model = replace(model, folder=None)
    due, generate = model.answers(EXAMPLES), model.base.network.generate

    def scarce(most: int) -> Callable[..., Any]:
        def generate_few(input_ids: torch.Tensor, **more: Any) -> Any:
            if len(input_ids) > most:
                raise torch.OutOfMemoryError("CUDA out of memory (as a test says)")
            return generate(input_ids=input_ids, **more)

        return generate_few

    monkeypatch.setattr(model.base.network, "generate", scarce(2))
    assert model.answers(EXAMPLES) == due
    monkeypatch.setattr(model.base.network, "generate", scarce(0))
    with pytest.raises(ModelError, match="the device has not enough memory for one text"):
        model.answers(EXAMPLES)


def test_answers_are_kept_with_the_models_digest_and_written_once(
    writer: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    model = load(copied(writer, tmp_path / "model"))
    first = model.answers(EXAMPLES)
    path = model.artefact
    assert path is not None
    assert model.digest in path.name
    whole = path.read_bytes()
    path.write_bytes(whole[:-25])  # as a kill leaves it
    assert model.answers(EXAMPLES) == first
    assert path.read_bytes() == whole
    monkeypatch.setattr(
        "builder.models.paper.models.write",
        lambda base, asked, *more: iter(()) if not asked else pytest.fail("asked again"),
    )
    assert model.answers(EXAMPLES) == first
    assert problem_counts(tmp_path / "model") == problem_counts(tmp_path / "model")


def test_the_known_aspects_are_named_to_a_model_that_is_asked_about_them(writer: Path, tmp_path: Path) -> None:
    model = load(copied(writer, tmp_path / "model"))
    model.predict_examples(EXAMPLES[:1])
    model.predict([EXAMPLES[1].text])
    assert model.artefact is not None
    asked = [json.loads(line)["question"] for line in model.artefact.read_text().splitlines()]
    assert "請問以下文字對牛肉麵的描述為何？ 請問以下文字對服務人員的描述為何？" in asked[0]
    assert asked[1] == f"question: 請問以下文字的評論對象有哪些？  context: {EXAMPLES[1].text}"


def test_a_referees_chances_are_those_of_the_three_answers(referee: Path) -> None:
    model = load(referee)
    flat = [(example.text, triple_of(one)) for example in EXAMPLES[:2] for one in example.triplets]
    for (text, said), found in zip(flat, model.chances(flat), strict=True):
        sums = []
        for answer in judge_answers(said).values():
            ids = torch.tensor([model.base.tokens(answer, 64)])
            asked = torch.tensor([model.base.tokens(judge_question(text, said), 999)])
            sums.append(-float(model.base.network(input_ids=asked, labels=ids).loss.detach()) * ids.numel())
        due = torch.tensor(sums).softmax(-1).tolist()
        assert list(found.values()) == pytest.approx(due, abs=1e-5)
    verdicts = model.classify(EXAMPLES[:2])
    assert [len(one) for one in verdicts] == [len(example.triplets) for example in EXAMPLES[:2]]
    assert model.classify([Example("", "湯", ())]) == [()]


def test_a_writer_that_has_seen_a_review_often_writes_its_triplets(folder: Path, tmp_path: Path) -> None:
    """The whole way: text to tokens to weights to tokens to triplets at their places."""
    config = replace(CONFIG, epochs=12, rate=1e-2, max_output=60, batch_tokens=100)
    seen = EXAMPLES[:1]
    model = train_writer(seen * 8, (), str(folder), Asking(), config, 3, tmp_path / "training")
    score = AnswerScore(model.base, model.asking, model.config, (*seen, EXAMPLES[2]))
    assert score(model.base.network, (0, 2)) == (1.0, 1)
    assert score(model.base.network, (1, 2))[0] < 1, "a review that it has not seen"
    (found,) = model.predict_examples(seen)
    assert [(triple_of(one), one.aspect.spans, one.opinion.spans) for one in found] == [
        (triple_of(one), one.aspect.spans, one.opinion.spans) for one in seen[0].triplets
    ]


def test_triplets_that_no_answer_can_hold_and_cut_texts_are_counted(folder: Path, tmp_path: Path) -> None:
    text = "湯、麵好吃，服務好"
    examples = [Example("a", text, (triplet(text, ("服務", "好", "POS")), triplet(text, ("湯、麵", "好吃", "POS"))))]
    model = train_writer(examples, (), str(folder), Asking(), replace(CONFIG, max_input=12), 3, tmp_path)
    assert (model.facts["triplets_lost"], model.facts["cut"]) == (1, 1)


def test_loading_gives_the_model_that_was_saved_or_says_what_is_wrong(
    writer: Path, referee: Path, tmp_path: Path
) -> None:
    assert isinstance(load_extractor(writer), Writer)
    assert isinstance(load_judge(referee), Referee)
    with pytest.raises(ModelError, match="this is no discriminator"):
        load_judge(writer)
    with pytest.raises(ModelError, match="this model finds no triplets"):
        load_extractor(referee)
    older = copied(referee, tmp_path / "older")
    kept = json.loads((older / "paper.json").read_text())
    kept["config"]["processes"], kept["asking"] = 0, {"template": "2", "given": True, "constrained": True}
    weights = weights_of(load_base(str(older)).network)
    kept["digest"] = tensor_digest(weights, settings("referee", kept["config"], kept["asking"]))[:16]
    (older / "paper.json").write_text(json.dumps(kept))
    assert load(older).digest == kept["digest"], "settings that are gone stay in its digest"
    mixed = copied(writer, tmp_path / "mixed")
    shutil.copy(referee / "model.safetensors", mixed)
    with pytest.raises(ModelError, match=r"digest is \w+, paper.json says \w+; train the model again"):
        load(mixed)
    (mixed / "paper.json").write_text("{}")
    with pytest.raises(ModelError, match="no readable model of the paper profile"):
        load(mixed)


def squad(path: Path, *asked: dict[str, Any]) -> Path:
    path.write_text(
        json.dumps({"version": "1.3", "data": [{"paragraphs": [{"context": REVIEWS[0], "qas": list(asked)}]}]}), "utf-8"
    )
    return path


def forget_files(record: str) -> str:
    """A record as version 0.12.0 kept it."""
    content = json.loads(record)
    del content["result"]["files"]
    return json.dumps(content)


def test_a_base_learns_reading_comprehension_and_is_a_base_again(folder: Path, tmp_path: Path) -> None:
    asked = [{"id": str(i), "question": "牛肉麵", "answers": [{"text": "好吃", "answer_start": 4}]} for i in range(40)]
    file = squad(tmp_path / "a.json", *asked, {"id": "none", "question": "湯", "answers": []})
    learn = partial(
        pretrain,
        str(folder),
        [file],
        tmp_path / "out",
        replace(CONFIG, max_output=16, rate=1e-2, epochs=4, batch_tokens=400),
        3,
    )
    done = learn()
    assert (done.train + done.valid, done.unanswered, done.cut) == (40, 1, 0)
    assert done.valid >= 1
    assert done.exact == 1.0, "the one answer there is"
    assert [path.name for path in (tmp_path / "out.training").iterdir()] == ["done.json"], "no weights lie there twice"
    written = (tmp_path / "out" / "model.safetensors").stat().st_mtime_ns
    assert learn() == done
    assert (tmp_path / "out" / "model.safetensors").stat().st_mtime_ns == written, "what is done is not done again"
    model, record = tmp_path / "out" / "model.safetensors", tmp_path / "out.training" / "done.json"
    due = model.read_bytes()
    for spoil in (
        model.unlink,
        lambda: shutil.copy(folder / "model.safetensors", model),
        lambda: (record.write_text(forget_files(record.read_text("utf-8")), "utf-8"), model.unlink()),
    ):
        spoil()
        assert learn() == done
        assert model.read_bytes() == due, "weights that are not those of the record are made again"
    record.write_text(forget_files(record.read_text("utf-8")), "utf-8")
    written = model.stat().st_mtime_ns
    assert (learn(), model.stat().st_mtime_ns) == (done, written), "a record of 0.12.0 with weights is believed"
    base = load_base(str(tmp_path / "out"))
    ((_, output),) = write(base, [base.tokens(f"question: 牛肉麵  context: {REVIEWS[0]}", 99)], CONFIG)
    assert decode(base, output.ids) == "好吃"


def test_a_file_in_another_layout_is_an_error_with_its_place(tmp_path: Path) -> None:
    (tmp_path / "a.json").write_text("[]")
    with pytest.raises(InputError, match="no file in the SQuAD layout"):
        read_squad(tmp_path / "a.json")
    with pytest.raises(
        InputError, match=r"a.json:data\[0\].paragraphs\[0\].qas\[0\]: not in the SQuAD layout: KeyError\('question'\)"
    ):
        read_squad(squad(tmp_path / "a.json", {"id": "1", "answers": [{"text": "湯"}]}))


def test_a_missing_extra_says_how_to_install_it(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in [name for name in sys.modules if name.split(".")[0] == "transformers"]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "transformers", None)
    with pytest.raises(ModelError, match="needs? transformers.*; " + re.escape(install_command("paper"))):
        load_base(str(folder))
