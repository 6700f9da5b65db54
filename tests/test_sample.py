"""The shipped sample keeps its promises: varied reviews, gold triplets whose every offset points at what it says, and a
build that makes tests/golden/sample of it, byte by byte on the same kind of processor.

After a change that is meant to make another release, renew it: `python tests/test_sample.py`. To publish one,
`python tests/test_sample.py publish` builds the successor of the newest in `releases/`, and names it wherever that is
named.
"""

from __future__ import annotations

import csv
import hashlib
import json
import os
import re
import shutil
import statistics
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from conftest import OLDER_SAMPLE, PUBLISHED_SAMPLE, ROOT, contents, environment

from builder.core.records import POLARITIES
from builder.language.lexicon.resources import sample_dir
from builder.reviews.masking import REPLACEMENTS, mask
from builder.reviews.script import HAN, script_of
from builder.reviews.text import in_order, view

Reviews = dict[str, dict[str, str]]
Gold = dict[str, list[dict[str, Any]]]
GOLDEN = ROOT / "tests" / "golden" / "sample"
RENEW = "python tests/test_sample.py"
ELEMENTS = ("aspect", "aspect_full", "opinion", "opinion_full")


@pytest.fixture(scope="module")
def reviews() -> Reviews:
    with (sample_dir() / "reviews.csv").open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    assert len({row["review_id"] for row in rows}) == len(rows)
    return {row["review_id"]: row for row in rows}


@pytest.fixture(scope="module")
def gold() -> Gold:
    lines = [json.loads(line) for line in (sample_dir() / "gold.jsonl").read_text(encoding="utf-8").splitlines()]
    assert len({line["id"] for line in lines}) == len(lines)
    return {line["id"]: line["triplets"] for line in lines}


def normal(text: str) -> str:
    return "".join(c for c in view(text).text.lower() if c.isalnum())


def spans(triplet: dict[str, Any], element: str) -> list[tuple[int, int]]:
    return [(start, end) for start, end in triplet[f"{element}_spans"]]


def test_ids_count_up_and_places_and_ratings_are_plausible(reviews: Reviews) -> None:
    assert list(reviews) == [f"s{n:04d}" for n in range(1, len(reviews) + 1)]
    assert all(row["place"] and row["rating"] in ("", "1", "2", "3", "4", "5") for row in reviews.values())
    assert len(Counter(row["place"] for row in reviews.values())) >= 20


def test_there_are_over_400_reviews_of_the_promised_lengths(reviews: Reviews) -> None:
    lengths = [len(row["text"]) for row in reviews.values()]
    assert len(lengths) >= 440
    assert 20 <= statistics.median(lengths) <= 35 and 35 <= statistics.mean(lengths) <= 55
    assert 300 <= max(lengths) <= 400


def test_punctuation_varies_as_in_real_reviews(reviews: Reviews) -> None:
    texts = [row["text"] for row in reviews.values()]
    by_spaces = sum(bool(re.search(r"[\u4e00-\u9fff] [\u4e00-\u9fff]", text)) for text in texts) / len(texts)
    without = sum(len(text) > 10 and not re.search(r"[^\w]", text) for text in texts) / len(texts)
    assert 0.25 <= by_spaces <= 0.4
    assert 0.06 <= without <= 0.15
    assert sum("\n" in text for text in texts) >= 10


def test_one_review_in_eight_is_simplified_and_none_is_mixed(reviews: Reviews) -> None:
    scripts = Counter(script_of(row["text"]) for row in reviews.values())
    assert 0.08 <= scripts["simplified"] / len(reviews) <= 0.16
    assert scripts["mixed"] == 0


@pytest.mark.parametrize(
    "trait",
    [
        r"[ㄅ-ㄩ]", r"[\U0001f300-\U0001faff]", r"[Ａ-Ｚａ-ｚ０-９]", r"[A-Za-z]{3,}", r"(.)\1{3,}", r"[？?]",
        "希望", "如果", "以前", "不會太", "沒有很", "不是不", "說不上", "沒什麼", "店家回覆", "CP值", "尚讚",
    ],
)  # fmt: skip
def test_every_promised_kind_of_text_occurs(reviews: Reviews, trait: str) -> None:
    assert any(re.search(trait, row["text"]) for row in reviews.values())


def test_a_few_rows_cannot_be_used_and_are_never_gold(reviews: Reviews, gold: Gold) -> None:
    unusable = {key for key, row in reviews.items() if not HAN.search(row["text"])}
    assert 4 <= len(unusable) <= 10
    assert any(not reviews[key]["text"].strip() for key in unusable) and any(
        re.search("[a-z]", reviews[key]["text"]) for key in unusable
    )
    assert not unusable & set(gold)


def test_duplicates_occur_and_are_never_gold(reviews: Reviews, gold: Gold) -> None:
    exact = Counter(row["text"] for row in reviews.values())
    near = Counter(normal(row["text"]) for row in reviews.values())
    assert max(exact.values()) > 1
    assert sum(count > 1 for count in near.values()) > sum(count > 1 for count in exact.values())
    assert [key for key in gold if near[normal(reviews[key]["text"])] > 1] == []


def test_masking_finds_contacts_people_and_places_and_covers_no_gold_span(reviews: Reviews, gold: Gold) -> None:
    masked = {key: mask(row["text"], [row["place"]]) for key, row in reviews.items()}
    assert {kind for text in masked.values() for *_, kind in text.masks} == set(REPLACEMENTS)
    covered = [
        (key, span)
        for key, triplets in gold.items()
        for one in triplets
        for name in ELEMENTS
        for span in spans(one, name)
        if masked[key].to_masked(span) is None
    ]
    assert covered == []


def test_contacts_are_obviously_invented(reviews: Reviews) -> None:
    text = "\n".join(row["text"] for row in reviews.values())
    assert set(re.findall(r"https?://([^/\s]+)|\w+@([\w.]+)", text)) == {("example.com", ""), ("", "example.com")}
    assert set(re.findall(r"\d{2,4}-\d{3,4}-\d{3,4}", text)) == {"0912-345-678", "02-5550-1234"}


def test_every_gold_span_points_at_what_it_says(reviews: Reviews, gold: Gold) -> None:
    """Full phrases are whole and contain their cores; an aspect is whole and stands apart from its opinion."""
    for key, triplets in gold.items():
        text = reviews[key]["text"]
        for triplet in triplets:
            for element in ELEMENTS:
                where = spans(triplet, element)
                assert in_order(where), (key, triplet)
                assert "".join(text[a:b] for a, b in where) == triplet[element] != "", (key, element, triplet)
            for core in ("aspect", "opinion"):
                [(start, end)] = spans(triplet, f"{core}_full")
                assert all(start <= a and b <= end for a, b in spans(triplet, core)), (key, triplet)
            [(start, end)] = spans(triplet, "aspect")
            assert all(b <= start or end <= a for a, b in spans(triplet, "opinion")), (key, triplet)


def test_gold_keeps_to_its_guidelines_and_shows_every_kind_of_triplet(reviews: Reviews, gold: Gold) -> None:
    """No phrase ends in a particle, no core keeps a degree word, no pair stands twice."""
    everything = [(key, triplet) for key, triplets in gold.items() for triplet in triplets]
    assert not [one for _, one in everything if re.search(r"[的了喔啊吧ㄟ]$", one["opinion_full"])]
    degree = re.compile("(不會|不|沒有|没有)?(太|很|超|非常|偏|有點|有点|特别|比較)")
    assert not [one for _, one in everything if degree.match(one["opinion"])]
    pairs = Counter((key, str(one["aspect_spans"]), str(one["opinion_spans"])) for key, one in everything)
    assert max(pairs.values()) == 1
    assert {one["polarity"] for _, one in everything} == set(POLARITIES)
    assert sum(len(one["opinion_spans"]) > 1 for _, one in everything) >= 15
    scripts = Counter(script_of(reviews[key]["text"]) for key in gold)
    assert scripts["simplified"] >= 10 and scripts["traditional"] >= 90


def test_the_readme_states_the_counts_as_they_are(reviews: Reviews, gold: Gold) -> None:
    readme = " ".join((sample_dir() / "README.md").read_text(encoding="utf-8").split())
    polarity = Counter(one["polarity"] for triplets in gold.values() for one in triplets)
    for said in (
        f"{len(reviews)} restaurant reviews",
        f"{len(gold)} of them annotated",
        f"{polarity.total()} triplets: {polarity['POS']} positive",
        f"{polarity['NEG']} negative",
        f"{polarity['NEU']} neutral",
        f"{sum(not one for one in gold.values())} reviews have no triplet",
    ):
        assert said in readme


# ---- the golden release


def build_sample(folder: Path, parent: Path = OLDER_SAMPLE) -> Path:
    """The release that a build of the sample makes, after `parent`. `.ci/run` names one, so that tests need not."""
    if made := os.environ.get("BUILDER_TEST_SAMPLE"):
        return Path(made)
    out = folder / "releases"
    shutil.copytree(parent, out / parent.name.replace("sample-", "v"))
    words = ("build", "--workdir", folder / "workdir", "--out", out, "--set", 'release.date="2026-11-29"', "--quiet")
    command = [sys.executable, "-m", "builder", *map(str, words)]
    done = subprocess.run(command, cwd=folder, env=environment(), stdout=subprocess.PIPE, text=True, check=True)
    return Path(done.stdout.rstrip("\n"))


DIGESTS = re.compile(r"\b[0-9a-f]{64}\b|(?<=\"bytes\": )\d+|(?<=_size: )\d+")
DECIMAL = re.compile(r"(\b\d\.\d+\b)")


def nearly(made: Path, golden: Path) -> bool:
    """Whether two files differ in digests, sizes and last digits of confidences alone: processors add differently."""
    if made.suffix == ".parquet":  # its rows are those of data/, which are compared as text
        return True
    ours, theirs = (DECIMAL.split(DIGESTS.sub("", path.read_text(encoding="utf-8"))) for path in (made, golden))
    return ours[::2] == theirs[::2] and all(
        abs(float(a) - float(b)) < 0.00025 for a, b in zip(ours[1::2], theirs[1::2], strict=True)
    )


def test_a_build_of_the_sample_is_the_golden_release(tmp_path: Path) -> None:
    release = build_sample(tmp_path)
    made, golden = contents(release), contents(GOLDEN)
    assert made.keys() == golden.keys()
    changed = [name for name in made if made[name] != golden[name] and not nearly(release / name, GOLDEN / name)]
    assert changed == [], f"If this is meant: {RENEW}"


def test_what_is_nearly_the_golden_release_differs_in_digests_and_last_digits(tmp_path: Path) -> None:
    def written(name: str, text: str) -> Path:
        (tmp_path / name).write_text(text, encoding="utf-8")
        return tmp_path / name

    golden = written("golden", '{"confidence": 0.8781, "polarity": "POS", "bytes": 12} ' + "a" * 64)
    assert nearly(written("near", '{"confidence": 0.878, "polarity": "POS", "bytes": 11} ' + "b" * 64), golden)
    assert not nearly(written("far", golden.read_text().replace("0.8781", "0.8785")), golden)
    assert not nearly(written("other", golden.read_text().replace("POS", "NEU")), golden)


# ---- published releases

PUBLISHED = ROOT / "tests" / "golden" / "published.sha256"
NAMED = re.compile(r"sample-\d+\.\d+\.\d+")


def files_that_name_samples() -> Iterator[Path]:
    """Documents and modules but for the changelog, which says what was."""
    for pattern in ("README.md", "releases/README.md", "docs/**/*.md", "builder/**/*.py", "examples/*.ipynb"):
        yield from (path for path in ROOT.glob(pattern) if NAMED.search(path.read_text(encoding="utf-8")))


def publish(made: Path) -> Path:
    """Lay a release beside the newest one, take the older one away, and name both where those two were named."""
    target = ROOT / "releases" / made.name.replace("v", "sample-")
    shutil.copytree(made, target)
    names = {OLDER_SAMPLE.name: PUBLISHED_SAMPLE.name, PUBLISHED_SAMPLE.name: target.name}
    for path in files_that_name_samples():
        text = path.read_text(encoding="utf-8")
        path.write_text(NAMED.sub(lambda found: names[found[0]], text), encoding="utf-8")
    shutil.rmtree(OLDER_SAMPLE)
    digest = hashlib.sha256((target / "SHA256SUMS").read_bytes()).hexdigest()
    lines = [line for line in PUBLISHED.read_text().splitlines() if f"/{OLDER_SAMPLE.name}/" not in line]
    PUBLISHED.write_text("\n".join([*lines, f"{digest}  releases/{target.name}/SHA256SUMS"]) + "\n")
    return target


def test_documents_name_published_samples_alone() -> None:
    named = {name for path in files_that_name_samples() for name in NAMED.findall(path.read_text(encoding="utf-8"))}
    assert named == {OLDER_SAMPLE.name, PUBLISHED_SAMPLE.name}


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as made_in:
        os.environ.pop("BUILDER_TEST_SAMPLE", None)
        publishing = sys.argv[1:] == ["publish"]
        made_release = build_sample(Path(made_in), PUBLISHED_SAMPLE if publishing else OLDER_SAMPLE)
        shutil.rmtree(GOLDEN)
        shutil.copytree(made_release, GOLDEN)
        if publishing:
            print(publish(made_release))
