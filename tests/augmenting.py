"""A tiny release of sentences written here, and sentences with marks, for the tests of augmentation."""

from __future__ import annotations

import re
from dataclasses import fields
from functools import cache
from pathlib import Path

from builder.augment import constraints
from builder.augment.candidates import Edit, Mark, Method, Rewrite, Sentence
from builder.augment.constraints import Cues
from builder.augment.methods.eda import Eda
from builder.core.records import POLARITIES
from builder.language.lexicon.resources import load_lexicon
from builder.release import package
from builder.release.export.native_rows import ElementRow, ReviewRow, TripletRow
from builder.release.manifest import Facts, SplitFacts
from builder.release.statistics import statistics

TRAIN = {
    "a1": (
        "今天跟朋友去吃，覺得湯頭很濃郁，但是店員不太親切。",
        [("湯頭", "濃郁", "很濃郁", "POS"), ("店員", "不親切", "不太親切", "NEG")],
    ),
    "a2": (
        "因為路過所以進門，牛肉麵真的好吃！價格也便宜。",
        [("牛肉麵", "好吃", "真的好吃", "POS"), ("價格", "便宜", "便宜", "POS")],
    ),
    "a3": (
        "上次晚上來的時候環境很吵，不過甜點不錯。",
        [("環境", "吵", "很吵", "NEG"), ("甜點", "不錯", "不錯", "POS")],
    ),
    "a4": ("如果常常來這裡，會發現份量偏少。", [("份量", "少", "偏少", "NEG")]),
    "a5": ("炸雞酥脆。最後大家一起回家，其實沒有特別的感想。", [("炸雞", "酥脆", "酥脆", "POS")]),
    "a6": ("紅茶甜。但是上次來的時候其實還不是這樣子的", [("紅茶", "甜", "甜", "NEU")]),
    "a7": ("昨天中午點了拌飯，醬汁太鹹，可能下次不會再點。", [("醬汁", "鹹", "太鹹", "NEG")]),
}
VALID = {
    "b1": ("週末排隊排很久，燒餅倒是香。", [("燒餅", "香", "香", "POS")]),
    "b2": ("紅茶甜", [("紅茶", "甜", "甜", "NEU")]),
}
TEST = {"c1": ("滷肉飯油膩，湯也冷掉了。", [("滷肉飯", "油膩", "油膩", "NEG")])}


def element(text: str, word: str, whole: str = "") -> ElementRow:
    """A word of a text; one that is interrupted (不親切 in 不太親切) is found inside `whole`."""
    start = text.find(word)
    if start >= 0:
        return {"text": word, "spans": [[start, start + len(word)]]}
    start = text.index(whole)
    ends = start + 1, text.index(word[1:], start)
    return {"text": word, "spans": [[start, ends[0]], [ends[1], ends[1] + len(word) - 1]]}


def row(i: str, text: str, told: list[tuple[str, str, str, str]], annotation: str = "silver") -> ReviewRow:
    triplets: list[TripletRow] = [
        {
            "id": f"{i}:{n:08x}", "aspect": element(text, aspect), "aspect_full": element(text, aspect), "owner": None,
            "opinion": element(text, opinion, full), "opinion_full": element(text, full), "polarity": polarity,
            "valence": {"POS": 8.0, "NEG": 3.0, "NEU": 5.0}[polarity], "sources": ["rules"], "rules": ["subject"],
            "aspect_category": None, "opinion_category": "taste.sweet", "confidence": 0.9, "verdict": "YY",
        }
        for n, (aspect, opinion, full, polarity) in enumerate(told)
    ]  # type: ignore[misc]  # fmt: skip
    return {
        "id": i, "text": text, "language": "zh-Hant", "rating": None, "source": None, "annotation": annotation,
        "unverified_negative": annotation == "silver" and not triplets, "triplets": triplets,
    }  # fmt: skip


def release(folder: Path) -> Path:
    """A sound release v0.1.0 under `folder`."""
    told = {"train": TRAIN, "valid": VALID, "test": TEST}
    rows = {
        split: [row(i, *one, "gold" if split == "test" else "silver") for i, one in listed.items()]
        for split, listed in told.items()
    }
    splits = [
        SplitFacts(split, "rules", "gold" if split == "test" else "silver", len(listed),
        sum(len(one["triplets"]) for one in listed),
              {p: sum(t["polarity"] == p for one in listed for t in one["triplets"]) for p in POLARITIES})
        for split, listed in rows.items()
    ]  # fmt: skip
    facts = Facts(
        "tiny", "0.1.0", None, "CC-BY-4.0", "0", splits, {}, {}, {}, {}, [], "2026-01-01", statistics=statistics(rows)
    )
    with package.building(folder) as making:
        data = package.data(making, {split: map(package.write_row, listed) for split, listed in rows.items()})
        package.write(making, folder / "v0.1.0", package.whole(facts, data, "# Changes\n"))
    return folder / "v0.1.0"


def sentence(marked: str, language: str = "en", label: str | None = None) -> Sentence:
    """`the {battery|aspect|POS} is {great|opinion|POS}` as a sentence with marks; words by spaces, or characters."""
    text, marks = "", []
    for part in re.split(r"(\{[^}]*\})", marked):
        if part.startswith("{"):
            word, kind, polarity = [*part[1:-1].split("|"), "aspect", ""][:3]
            marks.append(Mark(len(text), len(text) + len(word), kind, polarity or None))  # type: ignore[arg-type]
            text += word
        else:
            text += part
    words = [match.span() for match in re.finditer(r"\S+" if language == "en" else r"\S", text)]
    return Sentence("s", text, tuple(words), tuple(marks), label, language)  # type: ignore[arg-type]


def chinese(cut: str, *marked: str, name: str = "") -> Sentence:
    """`湯頭 很 濃` as a sentence of these words, with some of them marked as aspects."""
    words, text = [], ""
    for word in cut.split():
        words.append((len(text), len(text) + len(word)))
        text += word
    marks = (Mark(text.index(one), text.index(one) + len(one), "aspect", "POS") for one in marked)
    return Sentence(name or text, text, tuple(words), tuple(sorted(marks, key=lambda mark: mark.start)))


def candidate(source: Sentence, *replaced: tuple[str, str]) -> Rewrite:
    """The source with the first place of each word replaced; "" before a word inserts in front of it:
    ("+word", "new ").
    """
    edits = []
    for old, new in replaced:
        start = source.text.index(old.removeprefix("+"))
        edits.append(Edit(start, start if old.startswith("+") else start + len(old), new))
    return Rewrite(source.id, tuple(sorted(edits, key=lambda one: one.start)))


def write_wordnet(
    folder: Path,
    synsets: dict[str, list[list[str]]],
    exceptions: dict[str, str] | None = None,
    counts: str = "",
    ends: str = "\n",
) -> Path:
    """A WordNet of some words in its own format; `ends`: the line ends, which some copies have otherwise."""
    folder.mkdir(parents=True)
    for name, kind in (("noun", "n"), ("verb", "v"), ("adj", "a"), ("adv", "r")):
        data, index = "", "  1 licence\n"
        for words in synsets.get(name, []):
            index += "".join(f"{word.partition('(')[0]} {kind} 1 0 1 0 {len(data):08d}  \n" for word in words)
            listed = " ".join(f"{word} 0" for word in words)
            data += f"{len(data):08d} 00 {kind} {len(words):02x} {listed} 000 | said\n"
        (folder / f"data.{name}").write_bytes(data.replace("\n", ends).encode())
        (folder / f"index.{name}").write_text(index, "utf-8")
        (folder / f"{name}.exc").write_text((exceptions or {}).get(name, ""), "utf-8")
    (folder / "cntlist.rev").write_text(counts, "utf-8")
    return folder


@cache
def cues_of(language: str) -> Cues:
    return constraints.english_cues() if language == "en" else constraints.chinese(load_lexicon())


def eda_alone(method: Method, operation: str) -> Eda:
    """`eda` with one of its operations alone."""
    assert isinstance(method, Eda)
    kind = type("EdaAlone", (Eda,), {"operations": (operation,)})
    alone: Eda = kind(**{each.name: getattr(method, each.name) for each in fields(method)})
    return alone
