"""What changed between two releases: every kind counted, with samples, and what that asks of the version."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from test_export import facts, files_of, release, review, triplet

from builder.core.records import Released
from builder.release.diff import Diff, as_json, between, bumped, compare, compare_making, markdown
from builder.release.export.native_rows import triplet_row
from builder.release.manifest import making

LONG = "這家的牛肉麵湯頭濃郁，麵條彈牙，牛肉給得很大方，下次還會再來吃"
TWO = "湯頭鮮甜，麵條軟爛"
Splits = dict[str, list[Any]]


def splits() -> Splits:
    noodle = triplet(TWO, (5, 7), ((7, 9),), (7, 9), "NEG")
    return {
        "train": [
            review("a", LONG, triplet(LONG, (6, 8), ((8, 10),), (8, 10))),
            review("b", TWO, triplet(TWO, (0, 2), ((2, 4),), (2, 4)), noodle),
        ],
        "valid": [review("c", "服務好", triplet("服務好", (0, 2), ((2, 3),), (2, 3)))],
        "test": [],
    }


def by_id(rows: Splits) -> dict[str, tuple[str, Any]]:
    return {row["id"]: (split, row) for split, listed in rows.items() for row in listed}


def changed(edit: Callable[[Splits], object], samples: int = 5) -> Diff:
    before, after = splits(), splits()
    edit(after)
    return compare(("0.1.0", by_id(before)), ("0.2.0", by_id(after)), samples)


def another_triplet() -> Any:
    return triplet_row(triplet(LONG, (11, 13), ((13, 15),), (13, 15)), Released("n", ("rules",)), ("subject",))


def exchange(rows: Splits) -> None:
    """Text of one review under the id of another that stays."""
    rows["train"][0]["text"] = "服務好"
    rows["valid"].pop()


CHANGES: list[tuple[Callable[[Splits], object], dict[str, int], str]] = [
    (lambda rows: None, {}, "patch"),
    (lambda rows: rows["train"][0]["triplets"][0].update(sources=["x"]), {"triplets_provenance": 1}, "patch"),
    (lambda rows: rows["train"][0]["triplets"][0].update(rules=["x"], valence=9.0), {"triplets_edited": 1}, "major"),
    (lambda rows: rows["train"][0]["triplets"][0].update(remark="x"), {"triplets_edited": 1}, "major"),
    (lambda rows: rows["test"].append(review("n", "新的")), {"reviews_added": 1}, "minor"),
    (lambda rows: rows["train"][0]["triplets"].append(another_triplet()), {"triplets_added": 1}, "minor"),
    (lambda rows: rows["train"].pop(), {"reviews_removed": 1, "triplets_removed": 2}, "major"),
    (lambda rows: rows["train"][0]["triplets"].pop(), {"triplets_removed": 1}, "major"),
    (lambda rows: rows["train"][0]["triplets"][0].update(polarity="NEG"), {"triplets_polarity": 1}, "major"),
    (lambda rows: rows["train"][0]["triplets"][0].update(valence=9.0), {"triplets_edited": 1}, "major"),
    (lambda rows: rows["test"].append(rows["train"].pop()), {"reviews_moved": 1}, "major"),
    (lambda rows: rows["train"][0].update(id="new"), {"reviews_renamed": 1}, "major"),
    (lambda rows: rows["train"][0].update(text=LONG + "！"), {"reviews_edited": 1}, "major"),
    (lambda rows: rows["train"][0].update(annotation="gold"), {"reviews_relabelled": 1}, "major"),
    (lambda rows: rows["train"][0].update(rating=0.5), {"reviews_relabelled": 1}, "major"),
    (lambda rows: rows["train"][0].update(rating=99.5), {"reviews_relabelled": 1}, "major"),
    (exchange, {"reviews_edited": 1, "reviews_removed": 1, "triplets_removed": 1}, "major"),
]


@pytest.mark.parametrize(("edit", "counts", "level"), CHANGES)
def test_each_kind_of_change_is_counted_and_raises_its_part_of_the_version(
    edit: Callable[[Splits], object], counts: dict[str, int], level: str
) -> None:
    diff = changed(edit)
    assert {kind: count for kind, count in diff.counts.items() if count} == counts
    assert diff.level == level
    assert set(diff.samples) == set(counts)
    assert diff.same is not bool(counts)


def test_a_sample_says_what_happened_to_which_review_or_triplet() -> None:
    def edit(rows: Splits) -> None:
        first, second = rows["train"]
        first.update(annotation="gold", rating=2.0, id="new")
        second["triplets"][1]["polarity"] = "NEU"
        rows["test"].append(rows["train"].pop())

    assert changed(edit).samples == {
        "reviews_relabelled": ("a: annotation, rating",),
        "reviews_renamed": ("a is now new",),
        "reviews_moved": ("b from train to test",),
        "triplets_polarity": ("b (麵條, 軟爛, NEG) is now NEU",),
    }


def test_as_many_samples_are_kept_as_are_asked_for_and_all_are_counted() -> None:
    added = [review(f"n{number}", f"新的{number}") for number in range(4)]
    for most, shown in ((0, ()), (1, ("n0",)), (3, ("n0", "n1", "n2"))):
        diff = changed(lambda rows: rows["test"].extend(added), most)
        assert diff.counts["reviews_added"] == 4
        assert diff.samples["reviews_added"] == shown


def test_two_folders_are_compared_by_their_versions_with_five_samples_of_a_kind(tmp_path: Path) -> None:
    small = {"train": [review("a", "湯好喝")], "valid": [], "test": []}
    large = small | {"train": [*small["train"], *(review(f"n{number}", f"新的{number}") for number in range(7))]}
    old, new = (release(tmp_path / name, files_of(rows, facts(rows))) for name, rows in (("a", small), ("b", large)))
    diff = between(old, new)
    assert (diff.before, diff.after, diff.level, diff.counts["reviews_added"]) == ("1.2.0", "1.2.0", "minor", 7)
    assert diff.samples["reviews_added"] == ("n0", "n1", "n2", "n3", "n4")
    other = release(tmp_path / "c", files_of(small, replace(facts(small), name="others")))
    named = between(old, other)
    assert (named.before, named.after) == (f"{facts(small).name} 1.2.0", "others 1.2.0"), "two datasets are named"
    assert markdown(named).startswith(f"# {named.before} to {named.after}: ")


def test_what_made_two_releases_is_compared_beside_their_data(tmp_path: Path) -> None:
    told = facts(splits())
    before = replace(told, config={"release.min_confidence": 0.4, "seed": 13}, signatures={"rules": "aa", "E0": "bb"})
    after = replace(
        before, builder="9.10", config={"release.min_confidence": 0.6, "seed": 13, "domain": "a|b"},
        signatures={"rules": "cc", "E0": "bb"}, folders=[{"role": "lexicons", "name": "mine", "digest": "dd"}],
    )  # fmt: skip
    old, new = (release(tmp_path / name, files_of(splits(), told)) for name, told in (("a", before), ("b", after)))
    diff = between(old, new)
    assert diff.same and diff.level == "patch", "settings alone raise nothing"
    assert diff.made == (
        ("version of builder", "9.9", "9.10"),
        ("setting release.min_confidence", "0.4", "0.6"),
        ("signature of rules", "aa", "cc"),
        ("setting domain", "none", '"a|b"'),
        ("folder of lexicons mine", "none", "dd"),
    )
    page = markdown(diff)
    assert "| `setting release.min_confidence` | `0.4` | `0.6` |" in page
    assert '| `setting domain` | `none` | `"a\\|b"` |' in page
    assert {"what": "signature of rules", "before": "aa", "after": "cc"} in as_json(diff)["made"]  # type: ignore[operator]
    assert between(old, old).made == () and "made with another" not in markdown(between(old, old))
    assert compare_making(making(after), making(after)) == ()


def test_of_two_lost_reviews_with_one_text_one_is_renamed_and_the_other_removed() -> None:
    before = {"train": [review("a", "湯好喝"), review("b", "湯好喝")]}
    after = {"train": [review("c", "湯好喝")]}
    diff = compare(("0", by_id(before)), ("1", by_id(after)))
    assert {kind: count for kind, count in diff.counts.items() if count} == {"reviews_renamed": 1, "reviews_removed": 1}
    assert diff.samples == {"reviews_renamed": ("a is now c",), "reviews_removed": ("b",)}


def test_sizes_of_both_sides_stand_by_split_in_their_usual_order() -> None:
    diff = changed(lambda rows: rows.update(extra=[review("e", "加")], another=[review("f", "另")], test=rows["train"]))
    assert list(diff.sizes) == ["train", "valid", "test", "another", "extra"]
    assert diff.sizes["train"] == ((2, 3), (0, 0))
    assert diff.sizes["valid"] == ((1, 1), (1, 1))
    assert diff.sizes["test"] == ((0, 0), (2, 3))


def sized(**sizes: tuple[tuple[int, int], tuple[int, int]]) -> Diff:
    return Diff("0", "1", {}, {}, sizes)


def test_what_lost_more_than_a_share_is_named_and_what_lost_that_share_is_not() -> None:
    assert sized(train=((100, 200), (90, 180))).drops(0.1) == []
    assert sized(train=((100, 200), (89, 200))).drops(0.1) == [
        "all splits: reviews fell from 100 to 89",
        "train: reviews fell from 100 to 89",
    ]
    assert sized(train=((1000, 2000), (1000, 1799))).drops(0.1) == [
        "all splits: triplets fell from 2,000 to 1,799",
        "train: triplets fell from 2,000 to 1,799",
    ]


def test_a_small_split_may_lose_all_but_all_splits_together_may_not() -> None:
    small = sized(train=((1000, 1000), (1000, 1000)), test=((49, 50), (0, 0)))
    assert small.drops(0.1) == ["test: triplets fell from 50 to 0"]
    assert small.drops(0.1, least=49) == ["test: reviews fell from 49 to 0", "test: triplets fell from 50 to 0"]
    assert small.drops(0.01)[:2] == [
        "all splits: reviews fell from 1,049 to 1,000",
        "all splits: triplets fell from 1,050 to 1,000",
    ]
    assert sized(test=((3, 3), (1, 3))).drops(0.5) == ["all splits: reviews fell from 3 to 1"]


def test_the_next_version_is_raised_in_one_part_and_begins_anew_behind_it() -> None:
    assert [bumped((1, 2, 3), level) for level in ("patch", "minor", "major")] == [(1, 2, 4), (1, 3, 0), (2, 0, 0)]


def test_a_comparison_is_a_page_of_what_changed_and_of_the_sizes() -> None:
    def edit(rows: Splits) -> None:
        rows["test"].append(review("`n\n", "新的"))

    assert markdown(changed(edit)).splitlines() == [
        *("# 0.1.0 to 0.2.0: minor", ""),
        *("| change | number | raises |", "|---|---|---|", "| reviews added | 1 | minor |", ""),
        *("| split | reviews before | after | triplets before | after |", "|---|---|---|---|---|"),
        *("| train | 2 | 2 | 3 | 3 |", "| valid | 1 | 1 | 1 | 1 |", "| test | 0 | 1 | 0 | 0 |", ""),
        *("Reviews added, for example:", "", "- `'n`"),
    ]
    nothing = markdown(changed(lambda rows: None), "# Changes").splitlines()
    assert nothing[:3] == ["# Changes", "", "No review and no triplet differs."]
    assert "for example" not in "\n".join(nothing)


def test_a_comparison_is_json_with_both_sides_of_every_size() -> None:
    body = as_json(changed(lambda rows: rows["test"].append(rows["train"].pop())))
    assert body["sizes"] == {
        "train": {"before": {"reviews": 2, "triplets": 3}, "after": {"reviews": 1, "triplets": 1}},
        "valid": {"before": {"reviews": 1, "triplets": 1}, "after": {"reviews": 1, "triplets": 1}},
        "test": {"before": {"reviews": 0, "triplets": 0}, "after": {"reviews": 1, "triplets": 2}},
    }
    assert (body["before"], body["after"], body["level"]) == ("0.1.0", "0.2.0", "major")
    assert body["samples"] == {"reviews_moved": ["b from train to test"]}
