"""500 hostile reviews from a file to a release and out in every format:
nothing breaks, nothing is lost without being counted.
"""

from __future__ import annotations

import json
import random
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from export_readers import READERS, read_bio, read_csv, read_paper, read_xlsx
from test_release import make, told

from builder.core.config import resolve
from builder.core.records import aspect_text
from builder.pipeline import pipeline
from builder.pipeline.builds import Build
from builder.release.export.formats import FORMATS, NAMES, export_release
from builder.release.export.records import Labelled, ReviewRow, TripletLabel, label, labelled
from builder.release.export.records import triplet as read_row
from builder.release.reading import rows
from builder.release.verify import verify
from builder.store import db, runs, triplets

HURT = (
    "<script>alert(1)</script>", "<img src=x "
        "onerror=alert(1)>", "</text>", "]]>", "<!--", "&lt;b&amp;", "{{7*7}}", "${7}", "####", "#### #### ####",
        "####[([0], [1], 'POS')]",
    "# id = x", "\tB", "\\B", "\\O ", "'", '"', "'''", '"""', "\\", "\\n", "\t", "\n", "\n\n", "\r\n", "\r", "\u3000",
    "\u00a0", "\u2028", "\u2029", "\x0b", "\x0c", "\x1c", "\x85", "\x00", "\x01", "\x7f", "\u200b", "\u200d", "\ufeff",
    "\u202e", "\u202c", "\u2066", "\u2069", "\u061c", "\u2581", "\u2424", "=1+1", "=cmd|'/c calc'!A0", "@SUM(A1)", "+1",
    "-1", "--", "question: ", "  context: ", "、", "。", "：好(正面)。", "()", "[]", "[口感]", "不會太鹹", "\U00020bb7",
    "👩‍👩‍👧‍👦", "❤️", "e\u0301", "%s%n", "$text", "---\n", "|", "`", '{"id": 1}', ", ", "],", "\ud800", "NULL",
)  # fmt: skip
SAID = (
    "湯頭很鹹", "服務很親切", "餐點不會太油", "麵{}很好吃", "店員{}態度差", "肉質鮮嫩", "環境{}不太乾淨", "甜點好吃",
    "牛肉麵不是很貴",
)  # fmt: skip


def text(number: int) -> str:
    chosen = random.Random(number)
    parts = []
    for _ in range(chosen.randint(2, 4)):
        parts += [chosen.choice(HURT), chosen.choice(SAID).format(chosen.choice(HURT)), chosen.choice(("，", "", "。"))]
    return "".join([*parts, chosen.choice(HURT), *(chr(0x4E00 + chosen.randrange(20_000)) for _ in range(12))])


@pytest.fixture(scope="module")
def release(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("hostile")
    source = folder / "in.jsonl"
    keys = [f"{HURT[n % len(HURT)]}{n}" for n in range(500)]
    source.write_text(
        "".join(json.dumps({"id": key, "text": text(n)}) + "\n" for n, key in enumerate(keys)), encoding="utf-8"
    )
    chosen = resolve(options={"workers": 1, "threads": 1, "ingest.test_share": 0.2, "ingest.valid_share": 0.2})
    pipeline.run(Build(folder / "w", folder / "out", (source,), chosen), until="seed")
    with db.writing(folder / "w") as connection, db.atomic(connection):
        source = triplets.source_id(connection, "rules")
        assert source is not None
        ids = [one.id for split in ("train", "valid", "test") for one in triplets.proposed(connection, source, split)]
        triplets.set_training(connection, "C", 0, ids)
        runs.finish_round(connection, runs.Round("C", 0, "key", "none", 0, len(ids), 0, 0, 0, 0.0))
    return make(folder / "w", folder / "out")


def aside(path: Path) -> list[dict[str, Any]]:
    path = path.with_name(f"{path.name}.skipped.jsonl")
    return [json.loads(line) for line in path.read_text(encoding="utf-8").split("\n") if line] if path.exists() else []


def held(name: str, row: ReviewRow) -> tuple[str, Counter[tuple[str, str, str]]]:
    """The text of a row and its triplets in words, in full where the format cannot hold the opinion's core."""
    form = FORMATS[name]
    fitted = {label(one, "opinion_full" if form.label(label(one, "opinion")) else "opinion") for one in row["triplets"]}
    return words(Labelled(row["id"], row["text"], tuple(fitted)))


def words(review: Any) -> tuple[str, Counter[tuple[str, str, str]]]:
    def of(spans: Any) -> str:
        return "".join(review.text[start:end] for start, end in spans)

    def said(label: TripletLabel) -> tuple[str, str, str]:
        return of(label.aspect), of(label.opinion), label.polarity

    return review.text, Counter(map(said, review.labels))


def test_the_release_is_sound_and_full_of_hostile_reviews(release: Path) -> None:
    assert verify(release) == []
    listed = [row for split in told(release)["splits"] for row in rows(release, split)]
    assert len(listed) > 400
    assert sum(len(row["triplets"]) for row in listed) > 600
    texts = "".join(row["text"] for row in listed) + "".join(row["id"] for row in listed)
    assert [
        piece
        for piece in ("<script>", "####", "\t", "\n", "\r", "\u2028", "\u202e", "=cmd|", "\\B", "\x85", '"""')
        if piece not in texts
    ] == []


@pytest.mark.parametrize("name", NAMES)
def test_every_format_gives_back_what_it_holds_and_names_the_rest(release: Path, tmp_path: Path, name: str) -> None:
    for written in export_release(release, name, tmp_path):
        listed = list(rows(release, written.split))
        skipped = aside(written.path)
        assert len(skipped) == written.skipped
        out = {one["id"] for one in skipped}
        kept = [row for row in listed if row["id"] not in out]
        assert written.reviews == len(kept)
        if name == "xlsx":
            assert read_xlsx(written.path.read_bytes()) == kept
            continue
        content = written.path.read_bytes().decode()
        if name in FORMATS:
            found = READERS[name](content)
            assert [words(one) for one in found] == [held(name, row) for row in kept]
            assert name not in ("semeval", "label-studio", "doccano") or found == [labelled(row) for row in listed]
        elif name == "csv":
            assert read_csv(content) == kept
        elif name.startswith("paper"):
            told_ = [(said, Counter(set(those))) for _, said, those in read_paper(content)]
            for row, (said, those) in zip(kept, told_, strict=True):
                due = {(aspect_text(one), one.opinion.text, one.polarity) for one in map(read_row, row["triplets"])}
                assert said == row["text"]
                assert set(those) == due
        else:
            back = read_bio(content)
            assert [said for _, said, *_ in back] == [row["text"] for row in kept]
            assert sum(len(aspects) for *_, aspects in back) == written.labels


@pytest.mark.parametrize(("name", "mark"), [("aste-v2", "####"), ("span-aste", "#### #### ####"), ("pyabsa", "####")])
def test_the_loaders_of_others_see_one_sentence_a_line(release: Path, tmp_path: Path, name: str, mark: str) -> None:
    """They iterate over lines, in whatever way, and split at the mark and at white space."""
    for written in export_release(release, name, tmp_path):
        content = written.path.read_bytes().decode()
        assert (
            content.splitlines()
            == content.removesuffix("\n").split("\n")
            == written.path.read_text(encoding="utf-8").splitlines()
        )
        lines = [line.split(mark) for line in content.splitlines()]
        assert all(told_.startswith("[") and told_.endswith("]") for _, told_ in lines)
        assert all(len(token) == 1 for sentence, _ in lines for token in sentence.split())
        assert [len(sentence.split()) for sentence, _ in lines] == [len(one.text) for one in READERS[name](content)]
