"""Near-duplicates stand in one split, every one of them is found, and adding reviews moves no old review."""

from __future__ import annotations

import csv
import json
import random
import tracemalloc
from collections import Counter
from collections.abc import Callable
from itertools import combinations
from pathlib import Path
from typing import Any

import pytest
from conftest import sentence
from hypothesis import given
from hypothesis import strategies as st
from test_pipeline import ask

from builder.core.config import resolve
from builder.core.errors import ConfigError
from builder.pipeline import pipeline, splits
from builder.pipeline.builds import Build
from builder.release.shelf import Existing
from builder.reviews import assignment, near_duplicates, rare_pairs
from builder.reviews.assignment import Groups, assign, by_hash, norm_hash
from builder.reviews.near_duplicates import alike, bigrams, clusters, links, normal, pairs
from builder.reviews.rare_pairs import Texts
from builder.store import db, reviews


def check_join(texts: list[str]) -> list[tuple[int, int]]:
    """The pairs that comparing all finds, which the join must find."""
    due = [(a, b) for a, b in combinations(range(len(texts)), 2) if alike(bigrams(texts[a]), bigrams(texts[b]))]
    assert pairs(texts) == due
    assert clusters(len(texts), links(texts)) == clusters(len(texts), due)
    assert set(links(texts)) <= set(due)
    return due


@given(st.lists(st.text(st.sampled_from("湯頭好吃鹹甜a1"), min_size=1, max_size=14), max_size=14))
def test_the_join_finds_exactly_the_pairs_that_comparing_all_finds(texts: list[str]) -> None:
    check_join(texts)


def test_a_template_filled_ten_thousand_times_is_one_cluster() -> None:
    texts = [normal(f"第{n}次來，湯頭很好喝，服務也親切，下次還會再來") for n in range(10_000)]
    assert set(clusters(len(texts), links(texts))) == {0}


def test_long_reviews_in_the_same_few_words_are_compared_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """They share nearly all their rare pairs: a text was compared with each other one in every group of such a pair."""
    rng, rows, compared = random.Random(3), list[int](), near_duplicates._compare
    words = ["湯頭", "座位", "滷蛋", "很香", "太鹹", "乾淨", "普通"]
    texts = ["".join(rng.choices(words, k=60)) for _ in range(200)]

    def count(group: rare_pairs.Ints, *rest: Any) -> None:
        rows.append(len(group))
        compared(group, *rest)

    monkeypatch.setattr(near_duplicates, "_compare", count)
    found = pairs(texts)
    assert sum(rows) <= len(texts)
    assert found == check_join(texts) and len(found) > 100


@pytest.mark.parametrize("long", [3, 20, 2_000])
def test_texts_with_small_edits_are_joined_also_where_they_are_too_long_for_pairs(
    long: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(near_duplicates, "_LONG", long)
    monkeypatch.setattr(rare_pairs, "PART", 64)
    monkeypatch.setattr(rare_pairs, "_CHUNK", 100)
    rng = random.Random(long)
    texts = []
    for n in range(40):
        base = normal("".join(sentence(10 * n + k) for k in range(rng.randrange(1, 5))))
        cut = rng.randrange(len(base))
        texts += [base, base[: int(len(base) * rng.uniform(0.6, 0.9))], base[:cut] + "再訪" + base[cut:]]
    assert len(check_join(texts)) > 40
    assert any(len(bigrams(text)) > long for text in texts) or long == 2_000


@pytest.mark.parametrize("function", [links, pairs])
def test_texts_on_the_disk_are_joined_in_little_memory(
    function: Callable[[Texts], object], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each text of 40 characters has a hundred pairs of rare bigrams, of twelve bytes each."""
    for module, name, value in (
        (rare_pairs, "PART", 1 << 14),  # a file of each has a buffer
        (rare_pairs, "_CHUNK", 1 << 12),
        (rare_pairs, "_BITS", 12),
    ):
        monkeypatch.setattr(module, name, value)
    rng, peaks = random.Random(1), []
    for number in (1000, 5000):
        with Texts("".join(map(chr, rng.choices(range(0x4E00, 0x9FA5), k=40))) for _ in range(number)) as texts:
            tracemalloc.start()
            try:
                assert not function(texts)
                peaks.append(tracemalloc.get_traced_memory()[1])
            finally:
                tracemalloc.stop()
    assert peaks[1] - peaks[0] < 4000 * 150


@given(st.lists(st.text(st.characters(), max_size=9), max_size=9), st.integers(-10, 10), st.integers(-10, 10))
def test_texts_on_the_disk_are_a_list_of_them(listed: list[str], start: int, end: int) -> None:
    with Texts(listed[:3]) as texts:
        for text in listed[3:]:
            assert list(texts) == listed[: len(texts)]
            texts.append(text)
        assert (list(texts), texts[start:end], len(texts)) == (listed, listed[start:end], len(listed))
        assert [texts[n - len(listed)] for n in range(len(listed))] == listed
        with pytest.raises(IndexError):
            texts[len(listed)]


def test_script_width_case_and_marks_make_no_difference() -> None:
    assert normal("這裡的 Ramen，很好吃！") == normal("这里的ＲＡＭＥＮ很好吃")
    assert normal("！？") == "！？", "a text of marks alone is compared as it is"


def test_clusters_are_named_by_their_first_member() -> None:
    assert list(clusters(6, [(1, 4), (4, 5), (2, 3)])) == [0, 1, 2, 2, 1, 1]


HASHES = st.lists(st.integers(0, 16**13 - 1), min_size=1, max_size=12, unique=True).map(
    lambda listed: [f"{one:013x}" for one in listed]
)


@given(HASHES, st.data())
def test_whoever_is_added_nobody_moves_and_no_near_duplicates_are_parted(
    hashes: list[str], data: st.DataObject
) -> None:
    """Any graph of likeness, growing review by review: the paper's sizes or others, with labelled reviews."""
    edges = list(combinations(range(len(hashes)), 2))
    near = data.draw(st.lists(st.sampled_from(edges), unique=True, max_size=14)) if edges else []
    first = data.draw(st.integers(1, len(hashes)))
    before = assign(hashes[:first], [(a, b) for a, b in near if b < first], {}, (0.3, 0.3))
    kept = {i: split for i, split in enumerate(before) if split}
    after = assign(hashes, near, kept, (0.3, 0.3))
    assert {i: after[i] for i in kept} == kept
    assert all(after[a] == after[b] for a, b in near if after[a] and after[b])
    assert all(split in ("train", "valid", "test", None) for split in after)
    assert None not in before, "without a past nobody is left out"


def test_a_newcomer_between_two_splits_is_left_out_and_gold_goes_to_test() -> None:
    hashes = ["0" * 13, "8" * 13, "f" * 13]
    assert assign(hashes, [(0, 2), (1, 2)], {0: "test", 1: "train"}, (0.1, 0.1)) == ["test", "train", None]
    assert assign(hashes, [(1, 2)], {2: "test"}, (0.0, 0.1)) == ["valid", "test", "test"], (
        "what is like a labelled review follows it"
    )
    assert assign(hashes, [(0, 1)], {0: "test", 1: "train"}, (0.1, 0.1)) == ["test", None, "train"], (
        "test goes before train"
    )


GROUPED = st.lists(
    st.tuples(st.integers(0, 16**13 - 1), st.integers(-1, 3)), min_size=1, max_size=14, unique_by=lambda one: one[0]
)
NAMES = [f"{number:x}" * 13 for number in (3, 9, 5, 15)]


@pytest.mark.parametrize("joined", [0, 50])
@given(texts=GROUPED, data=st.data())
def test_groups_near_duplicates_and_gold_hold_together(
    joined: int, texts: list[tuple[int, int]], data: st.DataObject
) -> None:
    """With groups that near-duplicates join, and with groups that are too many to be joined."""
    hashes, of = [f"{number:013x}" for number, _ in texts], [group for _, group in texts]
    edges = list(combinations(range(len(hashes)), 2))
    near = data.draw(st.lists(st.sampled_from(edges), unique=True, max_size=8)) if edges else []
    gold = data.draw(st.sets(st.sampled_from(range(len(hashes))), max_size=2))
    groups = Groups(of, NAMES)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(assignment, "_JOINED", joined)
        before = assign(hashes, near, dict.fromkeys(gold, "test"), (0.3, 0.3), groups=groups)
        kept = {i: split for i, split in enumerate(before) if split}
        again = assign(hashes, near, kept, (0.3, 0.3), groups=groups)
    assert all(before[i] == "test" for i in gold)
    assert {i: again[i] for i in kept} == kept, "nobody moves"
    for chosen in (before, again):
        assert all(chosen[a] == chosen[b] for a, b in near if chosen[a] and chosen[b])
        for group in set(of) - {-1}:
            assert len({split for split, own in zip(chosen, of, strict=True) if own == group and split}) <= 1
    assert None not in before or not joined, "groups that are joined lose nobody"


@given(GROUPED, st.integers(0, 4), st.integers(0, 4))
def test_counts_are_met_exactly_or_refused(texts: list[tuple[int, int]], test: int, valid: int) -> None:
    hashes = [f"{number:013x}" for number, _ in texts]
    groups = Groups([group for _, group in texts], NAMES)
    near = [(a, a + 1) for a in range(0, len(hashes) - 1, 5)]
    try:
        chosen = assign(hashes, near, {}, (0.0, 0.0), (test, valid), groups)
    except ConfigError as error:
        assert "cannot be met" in str(error) or "leave nothing for train" in str(error)
    else:
        assert (chosen.count("test"), chosen.count("valid")) == (test, valid)
        assert len({split for split, (_, group) in zip(chosen, texts, strict=True) if group == 0}) <= 1


def test_counts_that_cannot_be_met_are_refused_with_what_can() -> None:
    hashes = ["1" * 13, "4" * 13, "8" * 13, "b" * 13, "f" * 13]
    pairs_ = Groups([0, 0, 1, 1, -1], [NAMES[0], NAMES[1]])
    with pytest.raises(
        ConfigError,
        match=r"ingest.test_count = 4 and ingest.valid_count = 1 leave nothing for train: there are 5 distinct",
    ):
        assign(hashes, [], {}, (0.0, 0.0), (4, 1))
    with pytest.raises(
        ConfigError,
        match=r"ingest.valid_count = 2 cannot be met: .* make 1 review; set ingest.valid_count to 1",
    ):
        assign(hashes, [], {0: "train"}, (0.0, 0.0), (2, 2), pairs_)
    with pytest.raises(
        ConfigError, match=r"ingest.test_count = 1, but test holds 2 reviews already: labelled, or there before; set"
    ):
        assign(hashes, [], {0: "test", 3: "test"}, (0.0, 0.0), (1, 1))
    assert assign(hashes, [], {4: "test"}, (0.0, 0.0), (3, 0), pairs_).count("test") == 3, (
        "gold counts, and a whole group goes with it"
    )


def test_who_belongs_to_a_group_goes_where_the_pinned_one_of_it_is_and_not_where_a_chained_group_is() -> None:
    hashes, groups = [norm_hash(str(n)) for n in range(4)], Groups([0, 1, 1, 1], [norm_hash("a"), norm_hash("b")])
    chosen = assign(hashes, [(0, 2)], {0: "test", 1: "train"}, (0.3, 0.3), groups=groups)
    assert chosen == ["test", "train", None, "train"]


def test_groups_that_near_duplicates_would_chain_to_one_stay_apart() -> None:
    """Each place has a review that all places have; joined, they would be one unit."""
    places, own = 40, 5
    of = [place for place in range(places) for _ in range(own)]
    hashes = [norm_hash(str(n)) for n in range(places * own)]
    chain = [(0, place * own) for place in range(1, places)]
    chosen = assign(hashes, chain, {}, (0.3, 0.3), groups=Groups(of, [norm_hash(f"place {n}") for n in range(places)]))
    assert {chosen.count(split) > 20 for split in ("train", "valid", "test")} == {True}
    assert chosen.count(None) < places, "only copies of the shared review are left out"
    assert all(chosen[place * own + 1 : (place + 1) * own] == [chosen[place * own + 1]] * 4 for place in range(places))


def test_shares_are_those_of_the_paper() -> None:
    rng = random.Random(1)
    told = [by_hash(norm_hash(str(rng.random())), 0.0676, 0.0676) for _ in range(20_000)]
    for split, share in (("test", 5_000 / 74_007), ("valid", 5_000 / 74_007), ("train", 64_007 / 74_007)):
        assert told.count(split) / len(told) == pytest.approx(share, abs=0.006)


# ---- through ingest


def ingest(
    folder: Path, texts: dict[str, str], out: Path | None = None, until: str = "ingest", **changed: object
) -> dict[str, str | None]:
    """Splits by key; the column `place` holds what a key begins with, before its point."""
    folder.mkdir(exist_ok=True)
    source = folder / "in.csv"
    with source.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["id", "text", "place"])
        writer.writerows((key, text, key.partition(".")[0]) for key, text in texts.items())
    chosen = resolve(options={"workers": 1, "ingest.test_share": 0.2, "ingest.valid_share": 0.2} | changed)
    pipeline.run(Build(folder / "w", out or folder / "out", (source,), chosen), until=until)
    return dict(ask(folder / "w", "SELECT key, split FROM reviews"))


def corpus(numbers: range, variants: int = 2) -> dict[str, str]:
    """Sentences, each with near-duplicates of it."""
    endings = ["", "喔", "啦真的"]
    return {f"k{n}{mark}": sentence(n) + mark for n in numbers for mark in endings[:variants]}


def test_near_duplicates_go_together_and_additions_move_no_old_review(tmp_path: Path) -> None:
    old = corpus(range(150), 1)
    before = ingest(tmp_path, old)
    after = ingest(tmp_path, corpus(range(120, 220)) | corpus(range(150)))
    assert {key: after[key] for key in before} == before
    assert all(after[key] == after[key + "喔"] for key in old)
    assert set(after.values()) == {"train", "valid", "test"}
    counts = pipeline.status(tmp_path / "w")[0][2]
    assert counts is not None
    assert counts.counts["near_duplicates"] == 220
    assert ask(tmp_path / "w", "SELECT count(*), count(DISTINCT cluster) FROM near_duplicates") == [(440, 220)]


def test_a_review_is_one_wherever_a_translation_or_a_reply_stands_around_it(tmp_path: Path) -> None:
    """Copies that differ only in that are duplicates; near-duplicates of what is read share a split."""
    texts: dict[str, str] = {}
    for n in range(40):
        said, english = sentence(n), "A rather long text in English that has nothing to do with it"
        texts |= {
            f"{n}": said,
            f"{n}.behind": f"{said}\n\n(Translated by Google)\n{english} {n}",
            f"{n}.before": f"(Translated by Google) {english} {n}\n\n(Original)\n{said}",
            f"{n}.reply": f"{said}\n業主回應 2 週前\n謝謝您撥空來店裡，我們會繼續努力",
            f"{n}.near": f"(由 Google 提供翻譯) 完全不同的一段話 {n}\n\n(原始評論)\n{said}喔",
        }
    chosen = ingest(tmp_path, texts)
    own = {key: split for key, split in chosen.items() if "." not in key}
    assert set(own.values()) == {"train", "valid", "test"}
    kept = dict(ask(tmp_path / "w", "SELECT key, split FROM reviews WHERE duplicate_of IS NULL"))
    assert set(kept) == {key for key in texts if "." not in key or key.endswith(".near")}
    assert all(kept[f"{key}.near"] == split for key, split in own.items())


def test_texts_in_other_languages_and_replies_alone_are_rejected_with_their_reasons(tmp_path: Path) -> None:
    texts = {
        "a": "湯頭很濃，麵條也很軟",
        "b": "スープがとても濃厚で、店員さんも親切でした",
        "c": "국물이 진하고 직원이 친절해요 湯",
        "d": "業主回應：謝謝您的支持",
        "e": "(由 Google 提供翻譯) 湯很濃\n\n(原始評論)\nスープがとても濃厚です",
        "f": "很好吃",
    }
    assert set(ingest(tmp_path, texts)) == {"a", "e", "f"}
    assert ask(tmp_path / "w", "SELECT reason, detail FROM rejected ORDER BY id") == [
        ("not-chinese", "the text is mostly Japanese"),
        ("not-chinese", "the text is mostly Korean"),
        ("owner-reply", "the text is the reply of an owner"),
    ]
    assert ask(tmp_path / "w", "SELECT key, language FROM reviews ORDER BY key") == [
        ("a", "zh-Hant"), ("e", "zh-Hant"), ("f", "zh"),
    ]  # fmt: skip


def test_a_column_of_groups_keeps_them_in_one_split_and_the_place_is_still_known(tmp_path: Path) -> None:
    old = {f"{n % 30}.{n}": sentence(n) for n in range(200)}
    before = ingest(tmp_path, old, **{"input.group_column": "place"})
    assert set(before.values()) == {"train", "valid", "test"}
    assert ask(tmp_path / "w", "SELECT count(*), count(DISTINCT name) FROM review_groups") == [(200, 30)]
    assert ask(tmp_path / "w", "SELECT count(DISTINCT place) FROM reviews") == [(30,)]
    after = ingest(
        tmp_path, old | {f"{n % 35}.{n}": sentence(n) for n in range(200, 260)}, **{"input.group_column": "place"}
    )
    assert {key: after[key] for key in before} == before
    splits_of = {(key.partition(".")[0], split) for key, split in after.items() if split}
    assert len(splits_of) == len({place for place, _ in splits_of}) == 35
    assert ingest(tmp_path, old) != before, "without groups each text has the split of its own hash"


def test_splits_by_count_are_exact_and_stay_when_reviews_come(tmp_path: Path) -> None:
    counts: dict[str, object] = {"ingest.test_count": 30, "ingest.valid_count": 20}
    before = ingest(tmp_path, corpus(range(100)), **counts)
    listed = list(before.values())
    assert (listed.count("test"), listed.count("valid"), listed.count("train")) == (30, 20, 150)
    after = ingest(tmp_path, corpus(range(130)), **counts)
    assert {key: after[key] for key in before} == before
    assert list(after.values()).count("train") == 210
    with pytest.raises(ConfigError, match="leave nothing for train: there are 260 distinct reviews"):
        ingest(tmp_path, corpus(range(130)), **{"ingest.test_count": 250, "ingest.valid_count": 20})


def test_where_reviews_without_a_triplet_are_dropped_counts_are_met_by_those_with_one(tmp_path: Path) -> None:
    counts: dict[str, object] = {"ingest.test_count": 12, "ingest.valid_count": 8, "release.empty": "drop"}
    said = ("湯頭很好喝", "店員很親切", "環境很乾淨", "我們三個人一起去吃", "今天中午跟家人來", "上個月的事情")
    texts = {f"k{n}": f"{sentence(n, 3)}。{said[n % 6]}{'喔' * (n == 40)}" for n in range(60)}
    texts |= {"k40 again": texts["k40"] + "喔", "k0 again": texts["k0"] + "啦"}
    assert list(ingest(tmp_path, texts, **counts).values()).count("test") == 12, "before anything is found: of all"
    before = ingest(tmp_path, texts, until="seed", **counts)
    found = {key for (key,) in ask(tmp_path / "w", "SELECT key FROM reviews r JOIN triplets t ON t.review = r.id")}
    assert 20 < len(found) < len(texts), "some have a triplet, some have none"
    with_one = Counter(before[key] for key in found)
    assert (with_one["test"], with_one["valid"]) == (12, 8)
    alone = {key for key in texts if "again" not in key and f"{key} again" not in texts} - found
    assert {before[key] for key in alone} == {"train"}
    assert before["k40 again"] == before["k40"] and before["k0 again"] == before["k0"]
    assert ask(tmp_path / "w", "SELECT counts ->> '$.valid' FROM runs WHERE stage = 'ingest'") == [
        (list(before.values()).count("valid"),)
    ]
    more = {f"m{n}": f"{sentence(100 + n, 3)}。{said[n % 3]}" for n in range(9)}
    after = ingest(tmp_path, texts | more, until="seed", **counts)
    assert {key: after[key] for key in texts} == before and {after[key] for key in more} == {"train"}
    with pytest.raises(ConfigError, match="leave nothing for train"):
        ingest(tmp_path / "all", texts, until="seed", **counts | {"ingest.test_count": len(found) - 8})


def test_other_shares_are_the_wish_for_other_splits(tmp_path: Path) -> None:
    before = ingest(tmp_path, corpus(range(100), 1))
    after = ingest(tmp_path, corpus(range(100), 1), **{"ingest.test_share": 0.6})
    assert before != after
    assert list(after.values()).count("test") > 45


def test_a_bridge_between_two_splits_is_in_no_split_and_said_to_be(tmp_path: Path) -> None:
    rng = random.Random(3)
    left, right = "湯頭濃郁牛肉軟嫩麵條彈牙份量十足價格實在", "店員親切環境乾淨座位舒適音樂好聽燈光柔和"
    for _ in range(200):  # two texts of different splits by their hash
        left, right = "".join(rng.sample(left, len(left))), "".join(rng.sample(right, len(right)))
        if by_hash(norm_hash(left), 0.2, 0.2) != by_hash(norm_hash(right), 0.2, 0.2):
            break
    before = ingest(tmp_path, {"a": left, "b": right} | {f"n{i}": sentence(i) for i in range(5)})
    # each half of the chain is like its neighbours, the ends are not
    middle = {"c": left + right[:8], "d": right + left[:8]}
    assert alike(bigrams(left), bigrams(middle["c"])) and alike(bigrams(right), bigrams(middle["d"]))
    bridge = {"e": left[6:] + right[6:]}
    after = ingest(tmp_path, {"a": left, "b": right} | {f"n{i}": sentence(i) for i in range(5)} | middle | bridge)
    assert {key: after[key] for key in before} == before
    assert (after["a"], after["b"]) == (after["c"], after["d"]) or None in (after["c"], after["d"])
    left_out = {(key,) for key, split in after.items() if split is None}
    assert set(ask(tmp_path / "w", "SELECT item FROM rejected WHERE stage = 'split'")) == left_out


def test_a_text_of_the_last_release_goes_before_an_id_of_it(tmp_path: Path) -> None:
    ingest(tmp_path, {"a": sentence(1), "b": sentence(2)})
    rows = {"train": [("a", sentence(1) + "啊"), ("b", sentence(2) + "啊")], "test": [("c", sentence(1))]}
    for split, listed in rows.items():
        (tmp_path / "data").mkdir(exist_ok=True)
        lines = [json.dumps({"id": i, "text": text, "triplets": []}) + "\n" for i, text in listed]
        (tmp_path / "data" / f"{split}.jsonl").write_text("".join(lines))
    with db.reading(tmp_path / "w") as connection:
        found = splits.released_splits(connection, Existing(tmp_path, {"version": "0.1.0", "splits": rows}))
        assert {key: found[i] for i, key, *_ in reviews.distinct(connection)} == {"a": "test", "b": "train"}


def test_groups_are_joined_to_a_hundredth_of_all_texts_and_to_fifty_where_that_is_less() -> None:
    chain = [(at, at + 1) for at in range(0, 59, 2)]  # pairs that lead from a group to itself and the next

    def largest(texts: int) -> int:
        group = [at // 20 if at < 60 else -1 for at in range(texts)]
        unit = assignment._units(range(texts), [*chain, (19, 20), (39, 40)], assignment.Groups(group))
        return max(Counter(unit).values())

    assert largest(8_000) == 60  # a hundredth is 80
    assert largest(2_000) == 20  # a hundredth is 20, so 50
