"""The picture of the README: a review with the triplets that `builder extract` finds in it. `python docs/picture.py`
draws it anew.

In: `TEXT`. Out: docs/assets/triplets.svg, which shows on light and dark pages and needs no font but the reader's own.
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

TEXT = "滷肉飯不會太鹹，雞湯很濃郁，但是位子有點少，服務態度普通。"
TARGET = Path(__file__).parent / "assets" / "triplets.svg"
SIZE, LEFT, BASE, HEIGHT = 24, 28, 86, 172
STYLE = """
  .page { fill: #fbfaf8; stroke: #d9d5cd } .text { fill: #22252a; \
font: 24px 'Noto Sans TC', 'PingFang TC', 'Microsoft JhengHei', sans-serif }
  .name { font: 15px 'Noto Sans TC', 'PingFang TC', 'Microsoft JhengHei', sans-serif; text-anchor: middle }
  .aspect { fill: #e4e9f1 } .POS { --c: #18794a; --b: #d7f0e0 } .NEG { --c: #b8382a; \
--b: #fbe5e1 } .NEU { --c: #766730; --b: #efe8c8 }
  .opinion { fill: var(--b) } .link { fill: none; stroke: var(--c); stroke-width: 2 } .line { stroke: var(--c); \
stroke-width: 3 } .name { fill: var(--c) }
  @media (prefers-color-scheme: dark) {
    .page { fill: #1f2226; stroke: #3a4048 } .text { fill: #e4e6e9 } .aspect { fill: #323a46 }
    .POS { --c: #58c48a; --b: #1d3f2c } .NEG { --c: #f08a7a; --b: #4d2822 } .NEU { --c: #cdb969; --b: #3d3722 }
  }
"""


def main() -> None:
    TARGET.write_text(draw(TEXT, extract(TEXT)), encoding="utf-8")
    print(TARGET)


def extract(text: str) -> list[dict[str, Any]]:
    """The triplets of a text, by the command that readers have too."""
    with TemporaryDirectory() as folder:
        source, target = Path(folder, "texts.jsonl"), Path(folder, "triplets.jsonl")
        source.write_text(json.dumps({"id": 1, "text": text}), encoding="utf-8")
        subprocess.run([sys.executable, "-m", "builder", "extract", "--input", source, "--output", target], check=True)
        triplets: list[dict[str, Any]] = json.loads(target.read_text(encoding="utf-8"))["triplets"]
    return triplets


def draw(text: str, triplets: Sequence[dict[str, Any]]) -> str:
    """Aspects and opinions marked in the text, joined by an arc; below, each triplet in words."""
    width = 2 * LEFT + SIZE * len(text)
    marks, words = [], []
    for triplet in triplets:
        polarity, aspect, opinion = triplet["polarity"], triplet["aspect_spans"], triplet["opinion_spans"]
        marks.append(f'<g class="{polarity}">')
        marks += [_box("aspect", span) for span in aspect] + [_box("opinion", span) for span in opinion]
        begin, end = _middle(aspect), _middle(opinion)
        marks.append(
            f'<path class="link" d="M{begin},{BASE - 30} C{begin},{BASE - 66} {end},{BASE - 66} {end},{BASE - 30}"/>'
        )
        marks.append("</g>")
        words.append(
            f'<text class="name {polarity}" x="{(begin + end) / 2:g}" y="{BASE + 52}">{triplet["aspect"]} · '
            f"{triplet['opinion']}"
            f'<tspan x="{(begin + end) / 2:g}" dy="22">{polarity}</tspan></text>'
        )
    return "\n".join(
        [
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {HEIGHT}" role="img" lang="zh-Hant">',
            "<title>A review whose aspects and opinions are marked and joined, coloured by polarity</title>",
            f"<style>{STYLE}</style>",
            f'<rect class="page" x="1" y="1" width="{width - 2}" height="{HEIGHT - 2}" rx="10"/>',
            *marks,
            f'<text class="text" x="{LEFT}" y="{BASE}" textLength="{SIZE * len(text)}">{text}</text>',
            *words,
            "</svg>\n",
        ]
    )


def _box(role: str, span: Sequence[int]) -> str:
    """What is marked, with a line below in the colour of its polarity."""
    x, end = LEFT + SIZE * span[0], LEFT + SIZE * span[1]
    box = f'<rect class="{role}" x="{x}" y="{BASE - 24}" width="{end - x}" height="32" rx="4"/>'
    return f'{box}<line class="line" x1="{x + 1}" y1="{BASE + 13}" x2="{end - 1}" y2="{BASE + 13}"/>'


def _middle(spans: Sequence[Sequence[int]]) -> float:
    return LEFT + SIZE * (spans[0][0] + spans[-1][1]) / 2


if __name__ == "__main__":
    main()
