"""The page on repeating the papers: each of its commands runs, on tiny models of the real classes.

Only sizes are changed, by options behind those of the page: reviews, passes, seeds.
"""

from __future__ import annotations

import csv
import json
import random
import re
import shlex
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
import test_nlp_ckip
import tiny_hub
from click.testing import CliRunner
from conftest import ROOT
from test_gold_judge import serving, well
from tiny_mt5 import make_base

from builder import Release
from builder.cli.main import cli
from builder.language import nlp
from builder.store import db, runs

PAGE = ROOT / "docs" / "guide" / "reproduce.md"
FOOD = ("牛肉麵", "湯頭", "蛋糕", "咖啡", "雞腿飯", "配菜")
WORDS = ("很好吃", "很鹹", "不新鮮", "很香", "普通", "很棒")
REVIEWS = tuple(f"{FOOD[n % 6]}{WORDS[(n + n // 6) % 6]}。" for n in range(16))
"""One triplet each: then a judge learns YY and YN alone, and a tiny one approves of some."""


def commands(page: Path = PAGE) -> Iterator[tuple[str, list[str]]]:
    """(section, words) of every command of builder on a page."""
    section, inside, begun = "", False, ""
    for line in page.read_text("utf-8").splitlines():
        if line.startswith("## "):
            section = line[3:]
        inside = line == "```bash" or (inside and line != "```")
        if inside and line != "```bash":
            begun += line.removesuffix("\\")
            if not line.endswith("\\"):
                words = shlex.split(begun)
                if words[0] == "builder":
                    yield section, words[1:]
                begun = ""


def cached(cache: Path, name: str, model: Path) -> None:
    """A model as the hub's cache holds it."""
    repository = cache / f"models--{name.replace('/', '--')}"
    (repository / "refs").mkdir(parents=True)
    (repository / "refs" / "main").write_text("0" * 40)
    shutil.copytree(model, repository / "snapshots" / ("0" * 40))


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A cache of the hub; nothing outside it can be reached."""
    import torch
    from huggingface_hub import constants

    folder = tmp_path / "hub"
    folder.mkdir()
    monkeypatch.setattr(constants, "HF_HUB_CACHE", str(folder))
    monkeypatch.setattr(constants, "HF_HUB_OFFLINE", True)
    threads = torch.get_num_threads()
    torch.set_num_threads(1)  # tiny models on two busy cores: two threads take eight times as long
    work = tmp_path / "work"
    work.mkdir()
    monkeypatch.chdir(work)
    yield folder
    torch.set_num_threads(threads)


def run(words: list[str]) -> str:
    done = CliRunner().invoke(cli, words)
    assert done.exit_code == 0, (words, done.output, repr(done.exception))
    return done.output


def of_section(name: str) -> list[list[str]]:
    section_commands = [words for section, words in commands() if section.startswith(name)]
    assert section_commands, name
    return section_commands


def put_ckip(cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """CKIP's two models, which have learnt by heart how our own backend reads the reviews."""
    monkeypatch.setattr(
        test_nlp_ckip, "VOCABULARY", [*test_nlp_ckip.VOCABULARY[:5], *dict.fromkeys("".join(REVIEWS) + "ab1")]
    )
    own = nlp.load("embedded", {})
    cuts, tags = [], []
    for text, tokens in zip(REVIEWS, own.annotate(REVIEWS), strict=True):
        lengths = [token.end - token.start for token in tokens]
        cuts.append((text, [i for length in lengths for i in [0, *[1] * (length - 1)]]))
        kinds = [_sinica(token.pos) for token in tokens]
        pairs = zip(kinds, lengths, strict=True)
        tags.append((text, [i for kind, length in pairs for i in [kind, *[-100] * (length - 1)]]))
    for part, names, seed, lessons in (("ws", "BI", 1, cuts), ("pos", test_nlp_ckip.POS, 2, tags)):
        model = test_nlp_ckip.save_model(cache.parent / f"ckip-{part}", names, seed, lessons)
        cached(cache, f"ckiplab/bert-base-chinese-{part}", model)


def _sinica(pos: str) -> int:
    """A tag of CKIP for one of ours."""
    names = {"NOUN": "Na", "VERB": "VC", "ADJ": "VH", "ADV": "Dfa", "PUNCT": "COMMACATEGORY", "PART": "DE"}
    return test_nlp_ckip.POS.index(names.get(pos, "Na"))


@test_nlp_ckip.needs_ckip
def test_the_commands_of_iterative_weak_supervision_run(cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-none")
    cached(cache, "google/mt5-base", make_base(cache.parent / "mt5", REVIEWS))
    put_ckip(cache, monkeypatch)
    with open("reviews.csv", "w", encoding="utf-8", newline="") as file:
        csv.writer(file).writerows([["id", "text"], *([f"r{n}", text] for n, text in enumerate(REVIEWS))])
    answers = [[{"text": WORDS[(n + n // 6) % 6], "answer_start": 3}] for n in range(len(REVIEWS))]
    questions = [{"id": f"q{n}", "question": f"{FOOD[n % 6]}怎麼樣？", "answers": own} for n, own in enumerate(answers)]
    paragraphs = [{"context": text, "qas": [asked]} for text, asked in zip(REVIEWS, questions, strict=True)]
    Path("DRCD_training.json").write_text(json.dumps({"data": [{"paragraphs": paragraphs}]}), "utf-8")
    small = ["ingest.test_count=3", "ingest.valid_count=3", "self_train.iterations=0", "paper.max_output=12",
             "paper.epochs=1", "paper.judge_epochs=8", "paper.rate=1e-2", "workers=1", "threads=1",
             "paper.generate_tokens=4000"]  # fmt: skip
    with serving(lambda number, payload: well()) as server:
        for words in of_section("Iterative weak supervision"):
            if words[:2] == ["model", "pretrain"]:
                words = [*words, "--epochs", "1", "--threads", "1"]
            if words[0] == "build":
                again = [setting for setting in small if setting.partition("=")[0] not in " ".join(words)]
                words = [*words, *(word for setting in again for word in ("--set", setting))]
            if words[:3] == ["gold", "annotate", "import"]:
                label_sheet(Path("sheet.csv"))
            run([server.url if word.startswith("https://") else word for word in words])
    assert {(done.variant, done.round) for done in rounds("iws")} == {(name, 0) for name in "ABCD"}
    assert Path("gold.jsonl").stat().st_size and Path("silver.jsonl").stat().st_size
    assert list(Path("releases").glob("*/manifest.json"))
    assert Path("iws/published/C0/model.safetensors").stat().st_size
    assert "Table 5" in Path("report.html").read_text("utf-8")
    confusion = json.loads(run(["query", "confusion", "--workdir", "iws", "--format", "json"]))
    assert {row["due"] for row in confusion} <= {"YY", "YN", "NX"}
    assert sum(row["candidates"] for row in confusion) > 0, "Figure 6 needs nothing but the commands of the page"
    release = Release(max(Path("releases").glob("v*")))
    with db.reading(Path("iws")) as connection:
        by_rules = connection.execute(
            "SELECT r.key, t.aspect, t.opinion FROM proposals p JOIN sources s ON s.id = p.source AND s.name = 'rules'"
            " JOIN triplets t ON t.id = p.triplet JOIN reviews r ON r.id = t.review WHERE r.split = 'valid'"
        ).fetchall()
    valid = [(row.id, t.aspect.text, t.opinion.text) for row in release.reviews("valid") for t in row]
    assert sorted(valid) == sorted(by_rules) and len({review for review, *_ in valid}) == 3, (
        "Table 7: what the rules found"
    )


def rounds(workdir: str) -> list[runs.Round]:
    with db.reading(Path(workdir)) as connection:
        return runs.rounds(connection)


def label_sheet(path: Path) -> None:
    """Every candidate is right but the third ones."""
    with path.open(encoding="utf-8-sig", newline="") as file:
        rows = list(csv.DictReader(file))
    for n, row in enumerate(rows):
        row["label"] = "none" if not row["aspect"] else "NX" if n % 3 == 2 else "YY"
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, rows[0])
        writer.writeheader()
        writer.writerows(rows)


THINGS, GOOD, BAD = ("screen", "battery", "keyboard", "mouse"), ("great", "lovely", "fast"), ("awful", "slow", "dull")


def write_english(count: int, seed: int) -> list[tuple[str, str, str]]:
    """(text with $T$, aspect, polarity), each text once."""
    draw = random.Random(seed)
    out = {}
    for n in range(count):
        good = n % 2 == 0
        text = f"the $T$ of number {seed} {n} was {draw.choice(GOOD if good else BAD)} and rather often so"
        out[text] = text, draw.choice(THINGS), "Positive" if good else "Negative"
    return list(out.values())


def write_sets() -> None:
    """What the page calls the sets of the papers, a few sentences each."""
    import augmenting

    for name, count, seed in (("train", 24, 1), ("dev", 6, 2), ("test", 8, 3)):
        rows = write_english(count, seed)
        plain = [(text.replace("$T$", thing), label) for text, thing, label in rows]
        Path(f"laptop14-{name}.apc").write_text("".join(f"{a}\n{b}\n{c}\n" for a, b, c in rows), "utf-8")
        Path(f"sst2-{name}.tsv").write_text(
            "sentence\tlabel\n" + "".join(f"{text}\t{label}\n" for text, label in plain), "utf-8"
        )
        bio = ["\n".join(f"{word} {'B-ASP' if word in THINGS else 'O'}" for word in text.split()) for text, _ in plain]
        Path(f"laptop-{name}.bio").write_text("\n\n".join(bio) + "\n", "utf-8")
    shutil.copy("sst2-train.tsv", "rt.tsv")
    for name in ("train", "dev", "test"):
        shutil.copy(f"sst2-{name}.tsv", f"agnews-{name}.tsv")
    texts = [text.replace("$T$", thing) for text, thing, _ in write_english(30, 9)]
    for name in ("amazon.txt", "wikitext.txt"):
        Path(name).write_text("\n".join(texts), "utf-8")
    words = sorted({word for text in texts for word in text.split()})
    Path("glove.840B.300d.txt").write_text(
        "".join(f"{word} {n % 3}.5 -1.0 {n % 5}.0 0.25\n" for n, word in enumerate(words)), "utf-8"
    )
    asked = {"question": "what?", "answers": [{"text": "number", "answer_start": 0}]}
    paragraphs = [{"context": text, "qas": [{"id": str(n)} | asked]} for n, text in enumerate(texts)]
    Path("squad.json").write_text(json.dumps({"data": [{"paragraphs": paragraphs}]}), "utf-8")
    Path("spelling_en.txt").write_text("number nummer\nrather rathar rahter\noften offen\n", "utf-8")
    synsets = {"noun": [["number", "figure"]], "adv": [["often", "frequently"]]}
    augmenting.write_wordnet(Path("wordnet/dict"), synsets)


SMALL = {
    "Masked sequence": [
        "masked_seq2seq.epochs=1", "masked_seq2seq.corpus_epochs=1", "masked_seq2seq.least=8", "masked_seq2seq.beams=2",
        "cbert.epochs=1", "cbert.least=16", "gpt2.epochs=1", "gpt2.least=16", "gpt2.beams=2", "redraws=0",
    ],
    "Conditional BERT": [
        "cbert.epochs=1", "cbert.least=16", "context.epochs=1", "context.pretrain_epochs=1", "context.least=16",
        "context_label.epochs=1", "context_label.pretrain_epochs=1", "context_label.least=16",
        "context.corpus_epochs=1", "context_label.corpus_epochs=1", "redraws=1",
        "style_transfer.epochs=1", "style_transfer.least=16", "style_transfer.share=0.1",
    ],
    "Filtered augmentation": [
        "boostaug.epochs=1", "monoaug.epochs=1", "boostaug.folds=3", "boostaug.confidence=0.1",
        "monoaug.confidence=0.1",
        "boostaug.by_perplexity=false", "monoaug.by_perplexity=false", "boostaug.by_label=false",
        "monoaug.by_label=false",
    ],
}  # fmt: skip


MODELS = {"Masked sequence": "bilstm-crf", "Conditional BERT": "cnn", "Filtered augmentation": "lstm"}
"""One of each preset, for the commands behind the first of a section."""


def choose_methods(words: list[str], seen: set[str]) -> list[str]:
    """A command with the methods of its list that no earlier one of the section ran, or else with the first two."""
    if "--methods" not in words:
        return words
    at = words.index("--methods") + 1
    listed = words[at].split(",")
    kinds = {re.sub(r"=[\d.]+$", "=", method): method for method in reversed(listed)}
    fresh = [method for kind, method in kinds.items() if kind not in seen]
    seen |= kinds.keys()
    chosen = [method for method in listed if method in fresh or method == "none"]
    return [*words[:at], ",".join(chosen if fresh else listed[:2]), *words[at + 1 :]]


@pytest.mark.parametrize("section", list(SMALL))
def test_the_commands_of_an_augmentation_paper_run(section: str, cache: Path) -> None:
    models = {
        "google-bert/bert-base-uncased": "bert", "facebook/bart-base": "bart", "FacebookAI/roberta-base": "roberta",
        "microsoft/deberta-base": "deberta", "openai-community/gpt2": "gpt2", "openai-community/openai-gpt": "gpt2",
        "Helsinki-NLP/opus-mt-en-de": "bart", "Helsinki-NLP/opus-mt-de-en": "bart",
    }  # fmt: skip
    for name, kind in models.items():
        cached(cache, name, Path(tiny_hub.save(cache.parent / kind, kind)))
    write_sets()
    seen: set[str] = set()
    whole = True
    for words in of_section(section):
        given = [*choose_methods(words, seen), *(word for setting in SMALL[section] for word in ("--set", setting))]
        if words[0] == "bench":
            given += ["--seeds", "1", "--epochs", "1", "--copies", "1"]
            given += ["--generated-sets", "1"] if section.startswith("Masked") else []
            given += ["--folds", "3", "--methods", "none"] if "--test" not in words else []
            given += ["--valid-count", "4"] if section.startswith("Masked") else []
            if not whole and "--models" not in words:  # the first command trains each model of the preset
                given += ["--models", MODELS[section]]
            whole = False
        else:
            given += ["--copies", "1", "--set", "threads=1"]
        run(given)
        if words[0] == "bench":
            workdir = Path(words[words.index("--workdir") + 1])
            if "--shift" in words:
                assert (workdir / "shift.json").stat().st_size
                continue
            cells = json.loads((workdir / "bench.json").read_text("utf-8"))["cells"]
            made = {cell["method"] for cell in cells}
            assert (
                made == set(given[given.index("--methods") + 1].split(",")) if "--methods" in given else len(made) > 1
            )
        else:
            assert Path(words[words.index("--output") + 1]).stat().st_size


def test_the_page_has_the_commands_of_all_four_papers_with_their_presets() -> None:
    from builder.core.config import NAMES

    presets = [words[words.index("--preset") + 1] for _, words in commands() if "--preset" in words]
    assert list(dict.fromkeys(presets)) == list(NAMES)
