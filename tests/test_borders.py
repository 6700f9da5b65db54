"""Where the longest forms of a triplet begin and end, as `release` says."""

from __future__ import annotations

import pytest

from builder.core.records import Element, Triplet
from builder.core.settings import ReleaseSettings
from builder.pipeline.borders import move_borders


def mark(text: str, aspect: str, aspect_full: str, opinion: str, opinion_full: str) -> Triplet:
    places = (
        Element.at(text, [(at := text.index(word), at + len(word))])
        for word in (aspect, aspect_full, opinion, opinion_full)
    )
    return Triplet(*places, "POS", 8.0)


@pytest.mark.parametrize(
    ("settings", "aspect", "opinion"),
    [
        (ReleaseSettings(), "這台的大螢幕", "很亮"),
        (ReleaseSettings(modifiers="unpointed"), "大螢幕", "很亮"),
        (ReleaseSettings(modifiers="drop"), "螢幕", "很亮"),
        (ReleaseSettings(lead="clause"), "這台的大螢幕", "看起來真的很亮"),
        (ReleaseSettings(particles="add"), "這台的大螢幕", "很亮的啊"),
        (ReleaseSettings("x", modifiers="drop", lead="clause", particles="add"), "螢幕", "看起來真的很亮的啊"),
    ],
)
def test_longest_forms_begin_and_end_as_a_release_wants_them(
    settings: ReleaseSettings, aspect: str, opinion: str
) -> None:
    text = "不錯，這台的大螢幕看起來真的很亮的啊！"
    triplet = mark(text, "螢幕", "這台的大螢幕", "亮", "很亮")
    moved = move_borders(triplet, text, settings)
    assert (moved.aspect_full.text, moved.opinion_full.text) == (aspect, opinion)
    assert moved.key == triplet.key
    assert all(
        text[start:end] == part.text for part in (moved.aspect_full, moved.opinion_full) for start, end in part.spans
    )


def test_particles_are_dropped_behind_the_opinion_alone() -> None:
    text = "这家的面是好吃的"
    settings = ReleaseSettings(particles="drop")
    assert move_borders(mark(text, "面", "这家的面", "好吃", "好吃的"), text, settings).opinion_full.text == "好吃"
    assert move_borders(mark(text, "面", "这家的面", "好吃的", "好吃的"), text, settings).opinion_full.text == "好吃的"
    unpointed = move_borders(mark(text, "面", "这家的面", "好吃", "好吃"), text, ReleaseSettings(modifiers="unpointed"))
    assert unpointed.aspect_full.text == "面"


@pytest.mark.parametrize(
    ("text", "aspect", "opinion", "other", "full"),
    [
        ("味道真的很讚啊我推薦的麵", "麵", "推薦", ("味道", "讚", "真的很讚"), "我推薦"),
        ("味道真的很讚的啊我推薦的麵", "麵", "推薦", ("味道", "讚", "真的很讚"), "我推薦"),
        ("每道菜都好吃又便宜", "菜", "便宜", ("菜", "好吃", "好吃"), "又便宜"),
        ("湯和麵真的很好吃", "湯", "好吃", ("麵", "好吃", "很好吃"), "真的很好吃"),
    ],
)
def test_a_lead_takes_in_nothing_of_another_triplet(
    text: str, aspect: str, opinion: str, other: tuple[str, str, str], full: str
) -> None:
    triplet = mark(text, aspect, aspect, opinion, opinion)
    others = [triplet, mark(text, other[0], *other)]
    assert move_borders(triplet, text, ReleaseSettings(lead="clause"), others).opinion_full.text == full


@pytest.mark.parametrize(
    ("full", "aspect", "due"),
    [
        ("這家店的湯頭", "湯頭", "這家店的湯頭"),
        ("每道菜", "菜", "每道菜"),
        ("某家麵", "麵", "某家麵"),
        ("這家的湯頭", "湯頭", "湯頭"),
        ("這碗大麵", "麵", "大麵"),
    ],
)
def test_a_pointer_stays_where_it_points_at_something_else(full: str, aspect: str, due: str) -> None:
    triplet = mark(f"{full}很讚", aspect, full, "讚", "很讚")
    assert move_borders(triplet, f"{full}很讚", ReleaseSettings(modifiers="unpointed")).aspect_full.text == due


def test_a_form_in_several_parts_stays() -> None:
    text = "麵真的不會太鹹啊"
    parts = Element.at(text, [(3, 4), (6, 7)])
    noodle = Element.at(text, [(0, 1)])
    triplet = Triplet(noodle, noodle, parts, parts, "POS", 8.0)
    wanted = ReleaseSettings(lead="clause", particles="add")
    assert move_borders(triplet, text, wanted).opinion_full == parts
