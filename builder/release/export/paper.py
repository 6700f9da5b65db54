"""The paper's format (Lu et al. 2024): one JSON line a review with `question` and `answer` in its wording. Pure.

`answer`: the aspects joined by 、, then for each `aspect：opinion(正面)、….`; an attribute stands in brackets behind
its owner, 餐點[口感]. What the format cannot hold (its own marks inside a term) is refused with a reason.
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from itertools import takewhile

from builder.core.records import POLARITY_NAMES, Polarity, Triplet

_POLARITIES = {name: polarity for polarity, name in POLARITY_NAMES.items()}
_MARKS = re.compile("[、。：()\\n]")
_NO_OPINION = re.compile(r"：|.\((?:正面|負面|中性)\)", re.S)
"""What an opinion does not hold: a colon, or another opinion's end."""
_CONTEXT = "context: "
"""What a review begins behind, in the question that names the aspects."""


def aspect_text(triplet: Triplet) -> str:
    """The aspect as the paper writes it: 餐點[口感] for an attribute with its owner."""
    if triplet.owner is None or not triplet.aspect.text.startswith(triplet.owner.text):
        return triplet.aspect.text
    attribute = triplet.aspect.text[len(triplet.owner.text) :].removeprefix("的").removeprefix("之").strip()
    return f"{triplet.owner.text}[{attribute}]" if attribute else triplet.aspect.text


def refused(triplet: Triplet) -> str | None:
    """Why the format cannot hold a triplet, or None."""
    for name, text in (("aspect", aspect_text(triplet)), ("opinion", triplet.opinion.text)):
        if _MARKS.search(text) or _CONTEXT in text:
            return f"the {name} {text!r} holds a mark of the format"
        if text != text.strip():
            return f"the {name} {text!r} begins or ends with white space"
    return None


def line(number: int, text: str, triplets: Sequence[Triplet], given: bool = True, review: str = "") -> str:
    """A review as a line of the paper's file; `number` is its integer id, `review` its own, which stands beside it.
    Triplets must not be `refused`.

    `given`: the questions name the aspects of the answer, as in the released files; else the input is open, the
    review alone.
    """
    return json.dumps({"id": number} | unnumbered(text, triplets, given, review), ensure_ascii=False)


def unnumbered(text: str, triplets: Sequence[Triplet], given: bool = True, review: str = "") -> dict[str, str]:
    """What `line` writes behind the number."""
    grouped: dict[str, list[str]] = {}
    for triplet in triplets:
        opinions = grouped.setdefault(aspect_text(triplet), [])
        if (opinion := f"{triplet.opinion.text}({POLARITY_NAMES[triplet.polarity]})") not in opinions:
            opinions.append(opinion)
    questions = [
        "請問以下文字的評論對象有哪些？",
        *(f"請問以下文字對{aspect}的描述為何？" for aspect in grouped if given),
    ]
    answer = (
        "、".join(grouped) + "。" + "".join(f"{aspect}：{'、'.join(of)}。" for aspect, of in grouped.items())
        if grouped
        else ""
    )
    ids = {"review_id": review} if review else {}
    return ids | {"question": f"question: {' '.join(questions)}  {_CONTEXT}{text}", "answer": answer}


def parse(answer: str) -> list[tuple[str, str, Polarity]]:
    """(aspect, opinion, polarity) of an answer; ValueError says what does not parse."""
    if not answer.strip():
        return []
    head, _, rest = answer.partition("。")
    named = set(head.split("、"))
    lengths = sorted({len(name) for name in named if name})
    out: list[tuple[str, str, Polarity]] = []
    for part in filter(None, (sentence.strip() for sentence in rest.split("。"))):
        ends = [end for end in takewhile(len(part).__gt__, lengths) if part[end] == "：" and part[:end] in named]
        aspect = part[: ends[-1]] if ends else part.partition("：")[0]  # it may hold the mark itself: 20：00
        for written in part[len(aspect) + 1 :].split("、"):
            opinion, _, name = written.removesuffix(")").rpartition("(")
            if not written.endswith(")") or name not in _POLARITIES or not opinion or _NO_OPINION.search(opinion):
                raise ValueError(f"no `aspect：opinion(polarity)` in {part!r}")
            out.append((aspect, opinion, _POLARITIES[name]))
    return out
