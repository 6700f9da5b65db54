"""500 hostile reviews go from a file to a release and out in every format: nothing breaks or is lost uncounted."""

from __future__ import annotations

import json
import random
from pathlib import Path

import pytest
from test_release import make, seeded, told

from builder.release.export.formats import NAMES, export_release
from builder.release.shelf import rows
from builder.release.verify import verify

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
    return make(seeded(folder, source), folder / "out")


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
def test_every_format_is_written_and_counts_what_it_leaves_out(release: Path, tmp_path: Path, name: str) -> None:
    """What comes back of each format is in test_formats.py."""
    for split, written in zip(told(release)["splits"], export_release(release, name, tmp_path), strict=True):
        assert (tmp_path / written.file).is_file()
        aside = tmp_path / f"{written.file}.skipped.jsonl"
        skipped = aside.read_text(encoding="utf-8").count("\n") if aside.exists() else 0
        assert len(written.skipped) == skipped
        assert written.reviews + skipped == sum(1 for _ in rows(release, split))
