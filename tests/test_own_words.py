"""Lexicons and rules of the user's own, over those shipped or in their place, and what is imported into a build."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
from conftest import Built, Command

from builder.core.config import resolve
from builder.core.errors import ConfigError, ResourceError
from builder.core.settings import DEFAULT_WORKDIR, Lexicons, Rules
from builder.language.lexicon.check import check
from builder.language.lexicon.folders import find_folders
from builder.language.lexicon.importers import Options, import_lexicon, universal_tag
from builder.language.lexicon.overlay import write
from builder.language.lexicon.packs import data_dir, list_packs
from builder.language.lexicon.resources import load_lexicon
from builder.language.lexicon.rules import load_rules
from builder.language.nlp import conllu
from builder.pipeline import pipeline
from builder.pipeline.builds import Build
from builder.store import db, triplets

RULE = """[own-rule]
kind = "pair-pattern"
order = 5
about = "the aspect before"
pattern = "TARGET CURRENT"
"""


def put(path: Path, text: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")
    return path


@pytest.fixture
def mine(tmp_path: Path) -> Path:
    put(tmp_path / "mine/opinions/own.tsv", "word\tcategory\n巔峰造極\teval.topclass\n")
    put(tmp_path / "mine/aspects/own.tsv", "word\tclass\n星空飯\tfood.dish\n")
    return tmp_path / "mine"


@pytest.fixture
def build(tmp_path: Path) -> Callable[..., Build]:
    reviews = put(tmp_path / "in.csv", "text\n" + "".join(f"星空飯巔峰造極，第{n}次來，湯頭好喝\n" for n in range(4)))

    def make(**options: object) -> Build:
        settings = {"workers": 1} | {key.replace("__", "."): value for key, value in options.items()}
        return Build(tmp_path / "w", tmp_path / "out", (reviews,), resolve(options=settings))

    return make


def seeded(build: Build) -> dict[str, bool]:
    return {done.stage: done.ran for done in pipeline.run(build, until="seed")}


def pairs(build: Build) -> set[tuple[str, str]]:
    with db.reading(build.workdir) as connection:
        source = triplets.source_id(connection, "rules")
        assert source is not None
        return {
            (row.triplet.aspect.text, row.triplet.opinion.text)
            for split in ("train", "valid", "test")
            for row in triplets.proposed(connection, source, split)
        }


def test_words_of_a_folder_of_ones_own_are_found_and_an_edit_of_it_reruns_what_reads_it(
    build: Callable[..., Build], mine: Path
) -> None:
    plain = build()
    assert seeded(plain) == {"ingest": True, "annotate": True, "seed": True}
    assert ("星空飯", "巔峰造極") not in pairs(plain)
    own = build(lexicons__dir=str(mine))
    assert seeded(own) == {"ingest": False, "annotate": True, "seed": True}
    assert ("星空飯", "巔峰造極") in pairs(own)
    assert seeded(own) == {"ingest": False, "annotate": False, "seed": False}
    put(mine / "opinions/own.tsv", "word\tcategory\n空前絕後\teval.topclass\n")
    states = {stage.name: state for stage, state, _ in pipeline.status(own.workdir)}
    assert (states["ingest"], states["annotate"], states["seed"]) == ("done", "stale", "stale")
    assert seeded(own) == {"ingest": False, "annotate": True, "seed": True}
    assert ("星空飯", "巔峰造極") not in pairs(own)


def test_rules_of_a_folder_of_ones_own_replace_those_shipped_or_lie_over_them(
    build: Callable[..., Build], tmp_path: Path
) -> None:
    folder = put(tmp_path / "own_rules/a.toml", RULE).parent
    base = seeded(build())
    assert base["seed"]
    whole = shutil.copytree(data_dir("rules"), tmp_path / "whole")
    core_names = {rule.name for rule in load_rules(data_dir("rules"))}
    put(whole / "own.toml", RULE)
    alone = build(rules__dir=str(whole), rules__mode="replace")
    assert {rule.name for rule in alone.folders.load_rules()} == {"own-rule"} | core_names
    assert len(alone.folders.rule_folders) == 1
    assert seeded(alone) == {"ingest": False, "annotate": False, "seed": True}
    over = build(rules__dir=str(folder))
    assert {rule.name for rule in over.folders.load_rules()} == {"own-rule"} | {rule.name for rule in load_rules()}
    put(folder / "a.toml", RULE.replace("own-rule", "subject").replace("before", "right before"))
    (subject,) = [rule for rule in over.folders.load_rules() if rule.name == "subject"]
    assert (subject.about, subject.where) == ("the aspect right before", "own_rules/a.toml:1")


def test_a_whole_lexicon_of_ones_own_takes_the_place_of_the_shipped_one(
    build: Callable[..., Build], tmp_path: Path, mine: Path
) -> None:
    whole = shutil.copytree(data_dir("lexicons"), tmp_path / "whole")
    put(whole / "opinions/own.tsv", "word\tcategory\n巔峰造極\teval.topclass\n")
    with pytest.raises(ResourceError, match=r'lexicons\.mode = "replace"'):
        build(lexicons__dir=str(whole)).folders.load_lexicon()
    used = build(lexicons__dir=str(whole), lexicons__mode="replace").folders.load_lexicon()
    assert "巔峰造極" in used.opinions and "星空飯" not in used.aspects
    with pytest.raises(ResourceError, match=r"a whole lexicon has variants\.tsv, opinion_categories\.tsv"):
        build(lexicons__dir=str(mine), lexicons__mode="replace").folders.load_lexicon()


def test_a_folder_that_is_missing_or_empty_is_named_before_anything_runs(
    build: Callable[..., Build], tmp_path: Path
) -> None:
    with pytest.raises(ConfigError, match=r"nowhere: lexicons\.dir is no folder; correct its path"):
        pipeline.run(build(lexicons__dir=str(tmp_path / "nowhere")))
    (tmp_path / "bare").mkdir()
    with pytest.raises(ConfigError, match=r"bare: rules\.dir holds no \.toml file"):
        pipeline.run(build(rules__dir=str(tmp_path / "bare")))
    put(tmp_path / "labelled/labels.tsv", "scheme\tlabel\tours\tnote\n")
    put(tmp_path / "labelled/a.toml", RULE)
    with pytest.raises(ConfigError, match=r"labels\.tsv is not read from a folder of your own"):
        pipeline.run(build(rules__dir=str(tmp_path / "labelled")))
    assert not (tmp_path / "w").exists()


def test_show_config_names_every_folder_with_its_digest(
    here: Command, build: Callable[..., Build], mine: Path, tmp_path: Path
) -> None:
    write(import_lexicon(put(tmp_path / "d.txt", "月光粥\n"), "dishes", load_lexicon()), tmp_path / "w/lexicon")
    ran = here(
        "build", tmp_path / "in.csv", "--workdir", tmp_path / "w", "--set", f"lexicons.dir={mine}", "--show-config"
    )
    assert ran.code == 0, ran.err
    folders = list(build(lexicons__dir=str(mine)).folders.describe())
    assert [folder.role for folder in folders] == [
        "lexicons shipped",
        "lexicons of the domain restaurant",
        "lexicons of your own, over those shipped",
        "lexicons imported into the working directory",
        "rules shipped",
        "rules of the domain restaurant",
    ]
    for folder in folders:
        assert f"# {folder.role}: {folder.path} ({folder.digest})" in ran.out
    config = put(tmp_path / "shown.toml", ran.out)
    assert resolve(config).config.lexicons == Lexicons(str(mine))


def test_the_manifest_of_a_release_names_every_folder_with_its_digest(built: Built) -> None:
    manifest = json.loads((built.release / "manifest.json").read_text(encoding="utf-8"))
    shipped = [
        {"role": folder.role, "name": folder.path.name, "digest": folder.digest}
        for folder in find_folders(Lexicons(), Rules()).describe()
    ]
    assert manifest["folders"] == shipped
    assert not {"lexicons.dir", "rules.dir"} & manifest["config"].keys()


def test_extract_reads_with_the_folders_of_its_working_directory(
    here: Command, build: Callable[..., Build], mine: Path, tmp_path: Path
) -> None:
    seeded(build(lexicons__dir=str(mine)))
    texts = put(tmp_path / "t.jsonl", json.dumps({"id": "1", "text": "星空飯巔峰造極"}) + "\n")
    out = tmp_path / "o.jsonl"
    ran = here("extract", "--input", texts, "--output", out, "--workdir", tmp_path / "w", "--source", "rules")
    assert ran.code == 0, ran.err
    (row,) = map(json.loads, out.read_text(encoding="utf-8").splitlines())
    assert [(triplet["aspect"], triplet["opinion"]) for triplet in row["triplets"]] == [("星空飯", "巔峰造極")]


# ---- what is imported


def imported(tmp_path: Path, text: str, kind: str, **options: object) -> dict[str, object]:
    overlay = import_lexicon(put(tmp_path / "list.tsv", text), kind, load_lexicon(), Options(**options))  # type: ignore[arg-type]
    return {"overlay": overlay, **dict(overlay.opinions), **dict(overlay.aspects), **dict(overlay.general)}


def test_known_words_are_refused_with_what_the_lexicon_says_or_replaced(here: Command, tmp_path: Path) -> None:
    words = put(tmp_path / "eh.txt", "{good|好}\t6\t優秀(VH11),可口(VH11)\n{bad|壞}\t4\t差勁\n")
    kept = here("lexicon", "import", words, "--kind", "ehownet", "--workdir", tmp_path / "w")
    assert (kept.code, "known 3" in kept.out, "--replace takes words that are known" in kept.out) == (0, True, True)
    assert f"{words}:1\t優秀\tknown: eval.topclass (9) in opinions/" in kept.err
    assert not (tmp_path / "w/lexicon/opinions").exists()
    ran = here("lexicon", "import", words, "--kind", "ehownet", "--replace", "--workdir", tmp_path / "w")
    assert "3 opinions, 0 aspects, 0 refused" in ran.out
    used = find_folders(Lexicons(), Rules(), tmp_path / "w").load_lexicon()
    assert (used.opinions["優秀"].valence, used.opinions["差勁"].valence) == (6, 4)


def test_only_so_many_refused_lines_are_shown_and_all_are_kept(here: Command, tmp_path: Path) -> None:
    names = put(tmp_path / "d.txt", "牛肉麵\n" + "滷肉飯\n水餃\n" * 6)
    ran = here("lexicon", "import", names, "--kind", "dishes", "--workdir", tmp_path / "w")
    assert ran.err.splitlines()[0].startswith(f"{names}:1\t牛肉麵\tknown: ")
    assert ran.err.splitlines()[10:] == [f"and 3 more in {tmp_path / 'w/lexicon/refused/d.txt'}"]
    assert len((tmp_path / "w/lexicon/refused/d.txt").read_text(encoding="utf-8").splitlines()) == 14


def test_class_category_scale_and_length_reach_the_importer(here: Command, tmp_path: Path) -> None:
    run = ("--workdir", tmp_path / "w")
    drinks = put(tmp_path / "drinks.txt", "極光星河漫遊特調氣泡飲料水\n極光特調\n")
    ran = here("lexicon", "import", drinks, "--kind", "dishes", "--class", "drink.other", "--longest", "13", *run)
    assert ran.code == 0, ran.err
    plain = put(tmp_path / "plain.txt", "巔峰造極\n")
    assert here("lexicon", "import", plain, "--kind", "words", "--category", "eval.topclass", *run).code == 0
    rated = put(tmp_path / "rated.csv", "Word,Valence_Mean\n空前絕後,5\n慘不忍聞,1\n")
    assert here("lexicon", "import", rated, "--kind", "valence-csv", "--scale", "1", "5", *run).code == 0
    used = find_folders(Lexicons(), Rules(), tmp_path / "w").load_lexicon()
    assert {used.aspects[name].cls for name in ("極光星河漫遊特調氣泡飲料水", "極光特調")} == {"drink.other"}
    assert [used.opinions[word].valence for word in ("巔峰造極", "空前絕後", "慘不忍聞")] == [9, 10, 1]
    wrong = here("lexicon", "import", plain, "--kind", "words", "--class", "food.nothing", *run)
    assert wrong.error.startswith("unknown aspect class 'food.nothing'; known: ")


def test_the_tree_and_the_dictionary_of_e_hownet_are_read(tmp_path: Path) -> None:
    tree = (
        "attribute|屬性\n├─ {quality|質}\t6\n│  ├─ {fancy|華麗}\n│  │  絢爛奪目(VH11,A)、燦爛奪目.VH\n│  └─ "
        "{shoddy|粗糙}\t3\n│     粗製爛造_VH\n└─ {odd|怪}\n   離奇古怪\n"
    )
    words = imported(tmp_path, tree, "ehownet")
    assert words["絢爛奪目"] == words["燦爛奪目"] == "imported.list.fancy|華麗"
    assert words["粗製爛造"] == "imported.list.shoddy|粗糙"
    overlay = words["overlay"]
    assert [(refusal.word, refusal.reason) for refusal in overlay.refused if refusal.reason != "no-valence"] == []  # type: ignore[attr-defined]
    assert {name: value for name, value, _ in overlay.categories} == {  # type: ignore[attr-defined]
        "imported.list.fancy|華麗": 6,
        "imported.list.shoddy|粗糙": 3,
    }
    dictionary = "絢爛奪目\tVH11\t{fancy|華麗:degree={very|很}}\n離奇古怪\tVH11\tDEF={odd|怪}\n"
    words = imported(tmp_path, dictionary, "ehownet", valences={"fancy": 8.0})
    assert words["絢爛奪目"] == "imported.list.fancy|華麗"
    (refusal,) = words["overlay"].refused  # type: ignore[attr-defined]
    assert (refusal.word, refusal.reason) == ("離奇古怪", "no-valence")
    assert refusal.detail == "odd|怪; give it one with --valences"


def test_a_file_of_valences_serves_the_categories_of_e_hownet(here: Command, tmp_path: Path) -> None:
    words = put(tmp_path / "eh.tsv", "絢爛奪目\tVH11\t{fancy|華麗}\n")
    good = put(tmp_path / "v.tsv", "category\tvalence\n{fancy|華麗}\t9\n")
    options = ("--kind", "ehownet", "--workdir", tmp_path / "w", "--valences")
    assert here("lexicon", "import", words, *options, good).code == 0
    assert find_folders(Lexicons(), Rules(), tmp_path / "w").load_lexicon().opinions["絢爛奪目"].valence == 9
    bad = put(tmp_path / "bad.tsv", "{fancy|華麗}\t9\n{odd|怪}\tmany\n")
    assert here("lexicon", "import", words, *options, bad).error.startswith(
        f"{bad}:2: '{{odd|怪}}\\tmany' gives no category a valence; write "
    )


def test_words_with_parts_of_speech_of_ckip_are_kept_whole_by_the_segmenter(tmp_path: Path) -> None:
    tags = conllu.load_labels().parts_of_speech
    assert [universal_tag(tag, tags) for tag in ("VH11", "Nab", "Neqa", "NOUN", "VA", "ZZ")] == [
        "ADJ" if tags["VH"] == "ADJ" else tags["VH"], "NOUN", "DET", "NOUN", tags["VA"], "",
    ]  # fmt: skip
    words = imported(tmp_path, "雲端機器人\tNa\n隨便亂寫\tXyz9\n", "words", tags=tags)
    assert words["雲端機器人"] == "NOUN"
    write(words["overlay"], tmp_path / "w/lexicon")  # type: ignore[arg-type]
    used = find_folders(Lexicons(), Rules(), tmp_path / "w").load_lexicon()
    assert used.words()["雲端機器人"] == "NOUN" and "雲端機器人" not in used.aspects
    (refusal,) = words["overlay"].refused  # type: ignore[attr-defined]
    assert refusal.detail == "'Xyz9' is no category, class or part of speech"


def test_nouns_that_several_dishes_share_are_aspects_too(here: Command, tmp_path: Path) -> None:
    names = put(tmp_path / "d.txt", "香辣雪蓮牛肉麵\n清燉雪蓮雞湯\n星空飯\n")

    def cut(texts: object) -> list[list[str]]:
        return [["雪蓮", "牛肉麵"], ["雪蓮", "雞湯"], ["星空飯"]]

    overlay = import_lexicon(names, "dishes", load_lexicon(), find_nouns=cut)
    assert dict(overlay.aspects)["雪蓮"] == "food.dish" and overlay.parts == 1
    assert "牛肉麵" not in dict(overlay.aspects), "the lexicon knows it"
    ran = here("lexicon", "import", names, "--kind", "dishes", "--no-parts", "--workdir", tmp_path / "w")
    assert "3 aspects, 0 refused" in ran.out


def test_check_says_what_own_words_bring_in_and_fails_where_a_kind_is_unknown(here: Command, tmp_path: Path) -> None:
    put(tmp_path / "w/lexicon/aspects/more.tsv", "word\tclass\n月光粥\tfood.dream\n")
    ran = here("lexicon", "check", "--workdir", tmp_path / "w")
    (fault,) = ran.out.splitlines()
    assert "unknown-kind\t月光粥" in fault and ran.code == 1, ran.err


@pytest.mark.parametrize("domain", sorted({*list_packs(), "none"}))
def test_no_shipped_word_stands_twice(here: Command, domain: str) -> None:
    ran = here("lexicon", "check", "--domain", domain)
    assert ran.code == 0, ran.out


def test_check_hides_no_fault_of_the_shipped_words_unless_a_working_directory_is_named(
    here: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    shipped = here("lexicon", "check").out.splitlines()
    put(tmp_path / DEFAULT_WORKDIR / "lexicon/aspects/more.tsv", "word\tclass\n月光粥\tfood.dish\n")
    assert shipped and set(shipped) <= set(here("lexicon", "check").out.splitlines())
    assert not here("lexicon", "check", "--workdir", DEFAULT_WORKDIR).out


def test_check_reads_the_union_and_names_the_folder_of_each_fault(mine: Path) -> None:
    put(mine / "aspects/more.tsv", "word\tclass\n月光粥\tfood.dream\n湯頭\tfood.dish\n")
    faults = check(data_dir("lexicons"), overlays=[data_dir("domains") / "restaurant/lexicons", mine])
    assert ("unknown-kind", "月光粥", "mine/aspects/more.tsv:2") in [
        (fault.kind, fault.word, fault.where) for fault in faults
    ]
    assert not [fault for fault in faults if fault.kind == "duplicate" and fault.word == "湯頭"]
