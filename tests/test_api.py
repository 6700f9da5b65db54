"""`import builder`: what it offers, what it costs, and that its answers are those of the command line."""

from __future__ import annotations

import doctest
import gc
import importlib
import itertools
import json
import pickle
import re
import shutil
import time
from pathlib import Path

import pytest
from conftest import PUBLISHED_SAMPLE, ROOT, SAMPLE, Built, Command, run_python
from hypothesis import given, settings
from hypothesis import strategies as st

import builder
from builder import Document, Extractor, Release
from builder.core.errors import ConfigError, ReleaseError, ResourceError, WorkdirError
from builder.core.markup import shared_rules
from builder.language.lexicon.packs import data_dir
from builder.pipeline.builds import remembered
from builder.store import db

TEXT = "餐點不會太鹹，服務人員也很親切"
EXTRACT = Extractor()
WITH_EXAMPLES = sorted(
    ".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__")
    for path in (ROOT / "builder").rglob("*.py")
    if re.search(r"^\s+>>> ", path.read_text(encoding="utf-8"), re.M)
)


def fresh(code: str) -> str:
    done = run_python("-c", code)
    assert done.returncode == 0, done.stderr
    return done.stdout


def extract_rows(here: Command, folder: Path, texts: list[str], *words: object) -> list[object]:
    """What `builder extract` writes of texts in a file."""
    source, target = folder / "in.jsonl", folder / "out.jsonl"
    source.write_text("".join(json.dumps({"id": n, "text": text}) + "\n" for n, text in enumerate(texts)), "utf-8")
    ran = here("extract", "--input", source, "--output", target, *words)
    assert ran.code == 0, ran.err
    return [json.loads(line)["triplets"] for line in target.read_text(encoding="utf-8").splitlines()]


@pytest.mark.parametrize("name", WITH_EXAMPLES)
def test_the_examples_in_docstrings_do_what_they_show(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)
    tried = doctest.testmod(importlib.import_module(name), optionflags=doctest.ELLIPSIS)
    assert tried.attempted > 0
    assert tried.failed == 0


def test_the_door_has_examples() -> None:
    assert {"builder", "builder.api", "builder.api.extractor", "builder.api.building"} <= set(WITH_EXAMPLES)


def test_every_public_name_is_there_and_says_what_it_is() -> None:
    assert len(builder.__all__) == 8
    for name in builder.__all__:
        assert name in dir(builder)
        public = getattr(builder, name)
        assert name == "__version__" or public.__doc__, name
    with pytest.raises(AttributeError, match="module 'builder' has no attribute 'extract'"):
        builder.extract  # type: ignore[attr-defined]  # noqa: B018
    assert (ROOT / "builder" / "py.typed").is_file()


def test_importing_the_package_loads_nothing_and_reading_a_release_no_torch() -> None:
    code = f"""
import sys, builder
print([name for name in sys.modules if name.startswith(("builder.", "torch", "numpy", "opencc"))])
print(len(list(builder.Release({str(PUBLISHED_SAMPLE)!r}).reviews("test"))) > 9, "torch" in sys.modules)
"""
    assert fresh(code).splitlines() == ["[]", "True False"]


COUNTING = """
import gc, os, sys

calls = 0

def count(frame, event, argument):
    global calls
    calls += event == "call"

def calls_of(work, *arguments):
    global calls
    calls = 0
    sys.setprofile(count)
    result = work(*arguments)
    sys.setprofile(None)
    return calls, result

def load():
    from builder import Extractor
    return Extractor()

def load_words():
    Folders().load_lexicon().words()

loading, extract = calls_of(load)
print(loading, gc.isenabled(), "builder.pipeline.builds" in sys.modules)
print(*(calls_of(extract, TEXT + "，湯頭濃郁" * number)[0] for number in [0, 3] * 2))
from builder.language.lexicon.folders import Folders
os.environ["BUILDER_CACHE"] = CACHE
print(calls_of(load_words)[0], calls_of(load_words)[0])
"""


def test_loading_and_reading_take_few_calls(tmp_path: Path) -> None:
    """Calls of Python functions, for seconds depend on the machine: a thousand take about a millisecond."""
    loaded, sentences, words = fresh(f"TEXT, CACHE = {TEXT!r}, {str(tmp_path)!r}\n{COUNTING}").splitlines()
    calls, collecting, builds = loaded.split()
    assert int(calls) < 2_000_000
    assert (collecting, builds) == ("True", "False")
    first, longer, again, longer_again = map(int, sentences.split())
    assert first < 6_000 and again < 3_000
    assert max(longer, longer_again) < 6_000
    tables, compiled = map(int, words.split())
    assert compiled < tables / 5


def test_a_sentence_on_the_command_line_loads_no_build_no_database_and_no_torch() -> None:
    code = """
import sys
from builder.cli.main import main

sys.argv = ["builder", "extract", "湯頭濃郁"]
try:
    main()
except SystemExit:
    pass
unwanted = "torch transformers pandas sqlite3 builder.pipeline.builds builder.store.db builder.release.card".split()
print([name for name in unwanted if name in sys.modules])
"""
    assert fresh(code).splitlines() == ["湯頭濃郁", "  湯頭  濃郁  POS", "[]"]


def test_no_thread_spins_while_a_sentence_is_read() -> None:
    """Processor time of all threads beside this one; those of other tests may wake, so the least difference counts."""
    others = []
    for number in range(20):
        all_threads, this_thread = time.process_time(), time.thread_time()
        EXTRACT(TEXT + "，湯頭濃郁" * (number % 4))
        others.append(time.process_time() - all_threads - (time.thread_time() - this_thread))
    assert min(others) < 0.002


def test_a_document_is_a_tuple_of_triplets_that_knows_its_text() -> None:
    document = EXTRACT(TEXT)
    assert isinstance(document, tuple)
    assert [str(triplet) for triplet in document] == ["餐點 · 不會鹹 · POS", "服務人員 · 親切 · POS"]
    for triplet in document:
        for element in (triplet.aspect, triplet.aspect_full, triplet.opinion, triplet.opinion_full):
            assert "".join(TEXT[start:end] for start, end in element.spans) == element.text
    again = pickle.loads(pickle.dumps(document))
    assert (again, again.text, again.id) == (document, TEXT, None)


def test_rows_are_those_that_the_command_line_writes(here: Command, tmp_path: Path) -> None:
    texts = ["湯頭濃郁", "服务很差，但牛肉麵\u200b好吃", ""]
    rows = extract_rows(here, tmp_path, texts)
    assert [document.rows() for document in EXTRACT.stream(texts)] == rows
    assert [EXTRACT(text).rows() for text in texts] == rows


def test_explaining_a_document_gives_rule_path_and_evidence_as_json() -> None:
    stories = json.loads(json.dumps(EXTRACT(TEXT).explain()))
    assert [story["rule"] for story in stories] == [triplet.rule for triplet in EXTRACT(TEXT)]
    kinds = [kind for kind, _ in stories[0]["evidence"]]
    assert kinds[0] == "aspect"
    assert {"negator", "pairing", "path"} <= set(kinds)


@settings(max_examples=15, deadline=None)
@given(st.lists(st.text(alphabet="湯頭服務很不太好吃差，。!\n😀<&", max_size=12), max_size=12))
def test_a_stream_gives_what_single_calls_give_in_order(texts: list[str]) -> None:
    assert list(EXTRACT.stream(iter(texts))) == [EXTRACT(text) for text in texts]


def test_an_endless_stream_is_read_as_far_as_it_is_wanted() -> None:
    endless = (f"湯頭濃郁{number}" for number in itertools.count())
    documents = EXTRACT.stream(endless)
    assert [document.text for document in itertools.islice(documents, 3)] == ["湯頭濃郁0", "湯頭濃郁1", "湯頭濃郁2"]
    documents.close()  # type: ignore[attr-defined]


SCRIPT = """
import builder
texts = [f"{'很' * (n % 3)}好吃" for n in range(1030)]
documents = list(builder.Extractor().stream(texts, workers=2))
assert [document.text for document in documents] == texts
print("same")
"""


def test_a_stream_over_processes_gives_the_same_and_needs_no_guard_in_a_script(tmp_path: Path) -> None:
    (tmp_path / "script.py").write_text(SCRIPT, encoding="utf-8")
    done = run_python("script.py", cwd=tmp_path)
    assert (done.stdout, done.returncode) == ("same\n", 0), done.stderr


@pytest.mark.parametrize("wrong", [None, ["湯頭濃郁"], b"x"])
def test_what_is_no_text_is_refused(wrong: object) -> None:
    with pytest.raises(TypeError, match="a text is a string"):
        EXTRACT(wrong)  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="a text is a string"):
        list(EXTRACT.stream([wrong]))  # type: ignore[list-item]
    with pytest.raises(TypeError, match="takes an iterable of texts"):
        list(EXTRACT.stream("湯頭濃郁"))


def test_own_words_are_laid_over_the_lexicon(tmp_path: Path) -> None:
    for kind, row in (
        ("aspects", "word\tclass\n噗丸\tfood.dish\n"),
        ("opinions", "word\tcategory\n噗嘎\ttaste.delicious\n"),
    ):
        (tmp_path / kind).mkdir()
        (tmp_path / kind / "mine.tsv").write_text(row, encoding="utf-8")
    text = "噗丸很噗嘎"
    assert "噗丸 · 噗嘎 · POS" not in map(str, EXTRACT(text))
    for lexicons in (tmp_path, [tmp_path]):
        assert [str(triplet) for triplet in Extractor(lexicons=lexicons)(text)] == ["噗丸 · 噗嘎 · POS"]
    with pytest.raises(ResourceError, match="does not exist"):
        Extractor(lexicons=tmp_path / "missing")


def test_a_whole_lexicon_takes_the_place_of_the_shipped_one(tmp_path: Path) -> None:
    own = tmp_path / "lexicons"
    shutil.copytree(data_dir("lexicons"), own)
    for path in (own / "aspects").glob("*.tsv"):
        rows = path.read_text(encoding="utf-8").splitlines(keepends=True)
        path.write_text("".join(row for row in rows if not row.startswith("環境\t")), encoding="utf-8")
    whole = (Extractor(lexicons=data_dir("lexicons")), Extractor(lexicons=own))
    shipped, changed = (made._system.reader.lexicon for made in whole)  # type: ignore[attr-defined]
    assert shipped.aspects.keys() - changed.aspects.keys() == {"環境"}
    with pytest.raises(ConfigError, match="are whole lexicons"):
        Extractor(lexicons=[own, own])


def test_an_unknown_backend_names_the_known_ones() -> None:
    with pytest.raises(ConfigError, match="unknown NLP backend 'x'; known: ckip, ckip-stanza, embedded"):
        Extractor(backend="x")


def test_the_convention_of_the_paper_gives_its_labels() -> None:
    assert Extractor(convention="paper")("店員很熱情")[0].polarity == "NEU"
    assert EXTRACT("店員很熱情")[0].polarity == "POS"


@pytest.mark.parametrize("source", ["rules", "D", "D0", ""])
def test_a_working_directory_gives_its_models(built: Built, here: Command, tmp_path: Path, source: str) -> None:
    extract = Extractor.from_workdir(built.workdir, source)
    assert extract.source == {"rules": "rules", "D0": "D0", "D": "D1"}.get(source, extract.source)
    texts = ["湯頭濃郁", "服務很差"]
    rows = extract_rows(here, tmp_path, texts, "--source", source or extract.source, "--workdir", built.workdir)
    assert [document.rows() for document in extract.stream(texts)] == rows


def test_the_rules_of_a_working_directory_need_no_build_and_a_model_does(tmp_path: Path) -> None:
    with pytest.raises(WorkdirError):
        Extractor.from_workdir(tmp_path, "rules")
    with db.writing(tmp_path):
        pass
    assert [t.aspect.text for t in Extractor.from_workdir(tmp_path, "rules")("湯頭濃郁")] == ["湯頭"]
    with pytest.raises(WorkdirError, match="no build was begun"):
        Extractor.from_workdir(tmp_path)


def test_a_model_that_was_not_trained_is_an_error_that_names_those_that_were(built: Built) -> None:
    with pytest.raises(ConfigError, match=r"no model 'C' in .*; trained there: D0"):
        Extractor.from_workdir(built.workdir, "C")
    with pytest.raises(ConfigError, match="reads characters, not words"):
        Extractor.from_workdir(built.workdir, "D").tokens("湯頭濃郁")


def test_a_triplet_renders_in_a_notebook_in_the_colours_of_serve() -> None:
    triplet = EXTRACT("湯頭不會太鹹")[0]
    shown = triplet._repr_html_()
    for part in ("湯頭", "不會", "鹹", "(不會太鹹)", 'class="tag POS"', "subject"):
        assert part in shown
    for colours in re.findall(r":root (\{[^}]+\})", shared_rules()):  # light, dark
        assert f".builder-triplets {colours}" in shown
    assert shown.count("--pos: #") == 2 and "body" not in shown and ":root" not in shown


def test_a_document_renders_its_text_with_marks_and_numbers_and_escapes_it() -> None:
    document = EXTRACT("<b>湯頭</b>濃郁 & 服務很差")
    shown = document._repr_html_()
    assert document.html() == shown
    assert "<b>" not in shown
    assert "&lt;b&gt;" in shown
    assert 'class="m aspect' in shown
    assert "<sup>1</sup>" in shown
    assert re.sub(r"<[^>]+>", "", re.search(r'<p class="text".*?</p>', re.sub(r"<sup>.*?</sup>", "", shown))[0]) == (  # type: ignore[index]
        "&lt;b&gt;湯頭&lt;/b&gt;濃郁 &amp; 服務很差"
    )
    assert "no triplet" in Document("今天")._repr_html_()


def test_the_reviews_of_a_release_are_documents_with_their_ids() -> None:
    release = Release(PUBLISHED_SAMPLE)
    rows = [
        json.loads(line) for line in (PUBLISHED_SAMPLE / "data" / "test.jsonl").read_text(encoding="utf-8").splitlines()
    ]
    reviews = list(release.reviews("test"))
    assert [(review.id, review.text, review.annotation, len(review)) for review in reviews] == [
        (row["id"], row["text"], row["annotation"], len(row["triplets"])) for row in rows
    ]
    assert len(list(release.triplets("test"))) == sum(len(row["triplets"]) for row in rows)
    assert len(list(release.reviews())) == sum(facts["reviews"] for facts in release.manifest["splits"].values())
    for review in reviews:
        for triplet in review:
            assert "".join(review.text[start:end] for start, end in triplet.aspect.spans) == triplet.aspect.text
    assert {triplet.source for triplet in release.triplets("test")} >= {"gold"}
    assert release.verify() == []
    assert release.diff(release).same


def test_a_split_or_release_that_is_not_there_is_named_with_those_that_are(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="has no split 'dev'; it has train, valid, test"):
        list(Release(PUBLISHED_SAMPLE).reviews("dev"))
    with pytest.raises(ReleaseError, match=r"no manifest\.json here"):
        Release(tmp_path)


def test_a_build_in_python_is_the_build_of_the_command_line(tmp_path: Path) -> None:
    heard: list[tuple[int, int, str]] = []
    reviews = tmp_path / "reviews.csv"
    reviews.write_text("text\n" + "\n".join(f"湯頭濃郁，服務很差{n}" for n in range(5)) + "\n", encoding="utf-8")
    made = builder.build(
        reviews, workdir=tmp_path / "w", out=tmp_path / "r", until="seed", progress=lambda *step: heard.append(step),
        workers=1, annotate={"chunk": 2},
    )  # fmt: skip
    assert heard == [(0, 3, "ingest"), (1, 3, "annotate"), (2, 3, "seed"), (3, 3, "done")]
    assert made.release is None
    assert made.counts["ingest"]["reviews"] == 5
    assert made.counts["seed"]["triplets"] == 10
    assert set(made.seconds) == {"ingest", "annotate", "seed"}
    assert len(made.extractor("rules")("湯頭濃郁")) == 1
    with pytest.raises(ConfigError, match="anotate"):
        builder.build(reviews, workdir=tmp_path / "w", anotate={"chunk": 2})
    with pytest.raises(ConfigError, match=r"unknown key 'anotate'; did you mean 'annotate'\?"):
        builder.build(reviews, workdir=tmp_path / "w", anotate={})
    with pytest.raises(ConfigError, match=r"seed = \{\} is no int"):
        builder.build(reviews, workdir=tmp_path / "w", seed={})
    gc.collect()


def test_without_inputs_the_build_is_that_of_the_sample(tmp_path: Path) -> None:
    made = builder.build(workdir=tmp_path / "w", out=tmp_path / "r", until="ingest")
    build = remembered(tmp_path / "w")
    assert build.inputs == (SAMPLE / "reviews.csv",)
    assert build.resolved.config.release.name == "sample-restaurant-aste"
    assert made.counts["ingest"]["reviews"] > 400
