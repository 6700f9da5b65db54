"""Who labelled gold: stated by the file or the setting, repeated everywhere, and assumed nowhere."""

from __future__ import annotations

import csv
import json
import re
from pathlib import Path

import pytest
import yaml
from conftest import SAMPLE, Command, sentence, write_lines

from builder import Release
from builder.core.errors import ConfigError, InputError
from builder.core.settings import Evaluate
from builder.core.wording import describe_annotators, join_annotators
from builder.pipeline import layers

INNOCENT = re.compile(r"names of people|goods or people")
"""Where a card speaks of people who label nothing."""
SAID = {"people": "people", "language model": "a language model", "mixed": "people and a language model"}


def labelled_reviews(folder: Path, annotators: list[str]) -> tuple[Path, Path]:
    """Reviews, and gold for as many as there are `annotators`; an empty one says nothing."""
    reviews, labels = folder / "reviews.csv", folder / "gold.jsonl"
    texts = [f"{sentence(n, 5)}。湯頭很鹹" for n in range(24)]
    with reviews.open("w", encoding="utf-8", newline="") as file:
        rows = [(f"r{n}", f"店{n % 2}號", text) for n, text in enumerate(texts)]
        csv.writer(file).writerows([("review_id", "place", "text"), *rows])
    labelled: list[dict[str, object]] = []
    for n, who in enumerate(annotators):
        start = texts[n].index("。湯頭") + 1
        spans = {"aspect_spans": [[start, start + 2]], "opinion_spans": [[start + 3, start + 4]]}
        label = {"aspect": "湯頭", "opinion": "鹹", "polarity": "NEG", **spans}
        labelled.append({"id": f"r{n}", "triplets": [label]} | ({"annotators": who} if who else {}))
    return reviews, write_lines(labels, labelled)


@pytest.mark.parametrize(
    ("rows", "setting", "whole"),
    [
        (["people", "people"], "", "people"),
        (["language model", "language model"], "", "language model"),
        (["people", "language model"], "", "mixed"),
        (["", ""], "", ""),
        (["", ""], "people", "people"),
    ],
)
def test_a_build_names_who_labelled(rows: list[str], setting: str, whole: str, tmp_path: Path, here: Command) -> None:
    reviews, labels = labelled_reviews(tmp_path, rows)
    stated = ["--set", f"evaluate.gold_annotators={setting}"] if setting else []
    where = ["--workdir", tmp_path / "w"]
    ran = here(
        "build", reviews, *where, "--out", tmp_path / "out", "--profile", "rules", "--set", "workers=1",
        "--set", f"evaluate.gold={labels}", *stated,
    )  # fmt: skip
    assert ran.code == 0, ran.err
    shown = here("report", *where, "--out", tmp_path / "report.html", "--markdown", "--samples", "0").out
    made = tmp_path / "out" / "v0.1.0"
    files = [made / name for name in ("README.md", "metadata.json", "CITATION.cff", "manifest.json")]
    card, metadata, cited, manifest, page = (path.read_text("utf-8") for path in [*files, tmp_path / "report.html"])
    by = describe_annotators(whole)
    assert ("evaluate.gold_annotators" in ran.out) is not bool(whole), "who does not say is asked"
    for text in (ran.out, card, metadata, page, shown):
        assert f"2 gold reviews, {by}" in text
    with reviews.open(encoding="utf-8", newline="") as file:
        place_of = {row["review_id"]: row["place"] for row in csv.DictReader(file)}
    held = [{place_of[review.id] for review in Release(made).reviews(split)} for split in ("train", "valid", "test")]
    apart = sum(sum(place in places for places in held) > 1 for place in set().union(*held))
    assert json.loads(manifest)["places"] == {"named": len(set().union(*held)), "in_several_splits": apart}
    assert (f"{apart} of 2 places have reviews in several splits" in ran.out) is (apart > 0)
    (layer,) = json.loads(manifest)["splits"]["test"]["layers"]
    assert (layer["annotators"], layer["labelled_by"]) == (whole, SAID.get(whole, "not stated"))
    protocol = json.loads(metadata)["rai:dataAnnotationProtocol"]
    who = f"{SAID[whole].capitalize()} labelled" if whole else "not stated who labelled"
    assert f"{who} the 2 gold" in protocol.replace("2 reviews with `annotation` gold", "2 gold")
    creators = yaml.safe_load(card.split("---")[1])["annotations_creators"]
    assert creators == {
        "": ["not stated who labelled", "machine-generated"],
        "language model": ["machine-generated"],
    }.get(whole, ["expert-generated", "machine-generated"])
    claims = [INNOCENT.sub("", text).lower() for text in (card, metadata, cited, manifest)]
    assert ["people" in text for text in claims] == [whole in ("people", "mixed")] * 4
    assert not any("human" in text for text in claims)
    for text in (ran.out, page, shown):
        assert ("labelled by people" in text or "gold by people" in text) is (whole in ("people", "mixed"))
        assert "human labels" not in text


def test_the_sample_says_that_a_language_model_labelled_it() -> None:
    rows = layers.rows(str(SAMPLE / "gold.jsonl"))
    assert layers.read_annotators(rows, "gold", Evaluate()) == "language model"
    assert "no person labelled any" in (SAMPLE / "README.md").read_text(encoding="utf-8")


def test_a_setting_that_contradicts_the_file_and_an_unknown_word_are_refused(tmp_path: Path, here: Command) -> None:
    reviews, labels = labelled_reviews(tmp_path, ["language model", ""])
    words = ("build", reviews, "--workdir", tmp_path / "w", "--out", tmp_path / "o", "--set", f"evaluate.gold={labels}")
    error = here(*words, "--set", "evaluate.gold_annotators=people").error
    said = "the labels say that they are by a language model, and evaluate.gold_annotators says by people"
    assert f"gold.jsonl: {said}; correct one of them" in error
    error = here(*words, "--set", "evaluate.gold_annotators=experts").error
    assert "evaluate.gold_annotators" in error and "language model" in error
    labels.write_text('{"id": "r0", "triplets": [], "annotators": "experts"}\n', encoding="utf-8")
    assert "gold.jsonl:1: there are no annotators 'experts'; write people, language model, mixed" in here(*words).error
    assert not (tmp_path / "o").exists()


def test_silver_is_refused_where_its_file_says_that_people_labelled_it(tmp_path: Path) -> None:
    _, labels = labelled_reviews(tmp_path, ["people"])
    rows = layers.rows(str(labels))
    with pytest.raises(ConfigError, match=r"by people.*name them in evaluate\.gold"):
        layers.read_annotators(rows, "silver", Evaluate(silver=str(labels)))
    assert layers.read_annotators([], "silver", Evaluate()) == "language model"


def test_a_mixed_file_may_be_stated_as_such_and_a_list_is_no_annotator(tmp_path: Path) -> None:
    _, labels = labelled_reviews(tmp_path, ["people", "language model", ""])
    rows = layers.rows(str(labels))
    assert layers.read_annotators(rows, "gold", Evaluate(gold_annotators="mixed")) == "mixed"
    assert layers.read_annotators(rows, "gold", Evaluate()) == "", "one row does not say"
    labels.write_text('{"id": "r0", "triplets": [], "annotators": ["people"]}\n', encoding="utf-8")
    with pytest.raises(InputError, match="no annotators"):
        layers.rows(str(labels))


def test_parts_together_say_what_all_of_them_say() -> None:
    assert join_annotators([]) == ""
    assert join_annotators(["people", "people"]) == "people"
    assert join_annotators(["people", "mixed"]) == "mixed"
    assert join_annotators(["language model", ""]) == ""
