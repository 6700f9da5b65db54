"""Text ↔ triplets for the sequence-to-sequence models (paper, section 4.2, Figures 4, 5 and 8). Pure.

In: a review, or a triplet of it, as strings. Out: the question that a model is asked and the answer it should give;
and back. Template 2 is worded as in the released data, template 1 as in Figure 5. Figure 8 shows the discriminator's
questions; of its answers only the English ones are legible, and ours say the same in the words of the questions.
Tokenizers with NFKC write ： （ ） as : ( ), so both are read. What does not parse is kept beside what does, with a
reason.

Where a term that a model wrote stands in the review. Pure.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Literal

from builder.core.records import POLARITY_NAMES, Element, Polarity, Reasons, Span, Triplet, Verdict, aspect_text
from builder.learning.task import VALENCE

MAX_GAP = 8
"""The most characters that a term skips at one place; 不是非常特別的好吃 → 不好吃 skips 7."""
_SENTENCE_END = re.compile("[。！？!?…\n]")


@cache
def _fold(char: str) -> str:
    return " " if char.isspace() else unicodedata.normalize("NFKC", char)


def fold(text: str) -> str:
    """NFKC of each character, which keeps its place, and whitespace as one space: as a model can write it."""
    return "".join(map(_fold, text))


@dataclass(frozen=True, slots=True)
class Folded:
    """`chars[i]` came from code point `index[i]` of the text."""

    chars: str
    index: tuple[int, ...]

    @classmethod
    def of(cls, text: str) -> Folded:
        folded = [(c, i) for i, char in enumerate(text) for c in fold(char)]
        return cls("".join(c for c, _ in folded), tuple(i for _, i in folded))

    def spans(self, at: tuple[int, ...]) -> tuple[Span, ...]:
        """Folded positions, in order, as merged spans of the text."""
        out: list[Span] = []
        for i in (self.index[j] for j in at):
            if out and i <= out[-1][1]:
                out[-1] = out[-1][0], max(out[-1][1], i + 1)
            else:
                out.append((i, i + 1))
        return tuple(out)


def places(folded: Folded, term: str) -> list[tuple[Span, ...]]:
    """Every place of `term` in one piece, else its closest place from each first character."""
    wanted = fold(term.strip())
    if not wanted:
        return []
    whole = [tuple(range(at, at + len(wanted))) for at in _all(folded.chars, wanted)]
    indices = whole or [
        at for first in _all(folded.chars, wanted[0]) if (at := _scattered(folded.chars, wanted, first)) is not None
    ]
    return list(dict.fromkeys(folded.spans(at) for at in indices))


def _all(text: str, part: str) -> Iterator[int]:
    at = text.find(part)
    while at >= 0:
        yield at
        at = text.find(part, at + 1)


def _scattered(text: str, term: str, first: int) -> tuple[int, ...] | None:
    """The subsequence `term` from `first` on that ends soonest, every skip at most MAX_GAP; None without one."""
    reached: dict[int, tuple[int, ...]] = {first: (first,)}
    for char in term[1:]:
        after: dict[int, tuple[int, ...]] = {}
        for at, path in reached.items():
            for j in range(at + 1, min(len(text), at + MAX_GAP + 2)):
                if text[j] == char and (j not in after or path[-1] > after[j][-2]):
                    after[j] = (*path, j)
        reached = after
    return reached[min(reached)] if reached else None


def nearest(text: str, aspect: str, opinion: str) -> tuple[tuple[Element, Element], int] | None:
    """Aspect and opinion where they stand closest together, and among how many pairs; None if either is nowhere. In one
    sentence goes before others, and an aspect before its opinion (82% of the released data).
    """
    folded = Folded.of(text)
    pairs = [(a, o) for a in places(folded, aspect) for o in places(folded, opinion)]
    if not pairs:
        return None
    a, o = min(pairs, key=lambda pair: _strain(text, *pair))
    return (Element.at(text, a), Element.at(text, o)), len(pairs)


def _strain(text: str, aspect: tuple[Span, ...], opinion: tuple[Span, ...]) -> tuple[bool, bool, int, int, int, int]:
    start, end, first, last = aspect[0][0], aspect[-1][1], opinion[0][0], opinion[-1][1]
    between = text[end:first] if end <= first else text[last:start]
    overlap = not (end <= first or last <= start)
    return overlap, bool(_SENTENCE_END.search(between)), len(between), int(last <= start), start, first


def envelope(text: str, element: Element) -> Element:
    """The contiguous stretch from the first to the last character of an element."""
    return Element.at(text, [(element.start, element.end)])


Template = Literal["1", "2"]


@dataclass(frozen=True, slots=True)
class Asking:
    """How the ASTE model is asked. `given`: template 2 names the aspects that are known already, as the paper's
    released data does; else the review is all that it sees.
    """

    template: Template = "2"
    given: bool = True


WrittenTriplet = tuple[str, str, Polarity]
"""aspect, opinion, polarity, as written in an answer; the aspect of an attribute is `owner[attribute]`."""
POLARITY: dict[str, Polarity] = {name: polarity for polarity, name in POLARITY_NAMES.items()}
ALL = "以下文字的評論對象、意見與正負面為何？"
WHICH = "請問以下文字的評論對象有哪些？"
WHAT = "請問以下文字對{aspect}的描述為何？"
MARKS = "、。:()"
"""What structures an answer, folded: a term that contains one cannot be written. Brackets are for attributes."""
_PLAIN = str.maketrans("：（）｡", ":()。")
_BRACKETS = "[]"


@dataclass(frozen=True, slots=True)
class Parsed:
    """The triplets of an answer, each once, and (reason, piece) for what does not parse or contradicts itself."""

    triplets: tuple[WrittenTriplet, ...]
    problems: tuple[tuple[str, str], ...] = ()


def question(text: str, template: Template, aspects: Iterable[str] = ()) -> str:
    """The input of the ASTE model. Template 2 asks one question more for every aspect that is named to it."""
    asked = [ALL] if template == "1" else [WHICH, *(WHAT.format(aspect=aspect) for aspect in dict.fromkeys(aspects))]
    return f"question: {' '.join(asked)}  context: {text}"


def triple_of(triplet: Triplet) -> WrittenTriplet:
    """A triplet as the strings that an answer holds."""
    return aspect_text(triplet), triplet.opinion.text, triplet.polarity


def refused(triplet: WrittenTriplet) -> str | None:
    """Why an answer cannot hold a triplet: `empty`, `edge` (a space there), `mark` (of the format); or None."""
    aspect, opinion, _ = triplet
    owner, bracket, attribute = aspect.partition("[")
    terms = [owner, attribute.removesuffix("]"), opinion] if bracket and aspect.endswith("]") else [aspect, opinion]
    if not all(terms):
        return "empty"
    if any(fold(term) != fold(term).strip() for term in terms):
        return "edge"
    return "mark" if any(set(fold(term)) & set(MARKS + _BRACKETS) for term in terms) else None


def answer(
    triplets: Sequence[WrittenTriplet], template: Template
) -> tuple[str, tuple[tuple[WrittenTriplet, str], ...]]:
    """The answer for triplets, aspects in order of first mention, and what had to be left out, with its reason."""
    left_out = [(triplet, reason) for triplet in dict.fromkeys(triplets) if (reason := refused(triplet)) is not None]
    grouped: dict[str, list[str]] = {}
    for aspect, opinion, polarity in dict.fromkeys(triplet for triplet in triplets if refused(triplet) is None):
        grouped.setdefault(aspect, []).append(f"{opinion}({POLARITY_NAMES[polarity]})")
    body = "".join(f"{aspect}：{'、'.join(opinions)}。" for aspect, opinions in grouped.items())
    head = f"{'、'.join(grouped)}。" if template == "2" and grouped else ""
    return head + body, tuple(left_out)


def parse(text: str, template: Template) -> Parsed:
    """What an answer says. Reasons: `cut` (no 。 at the end: what was written to its end counts), `form` (no
    `aspect：opinion(polarity)`), `polarity`, `repeated`, `unnamed` (template 2: an aspect is described that the first
    sentence does not name) and `undescribed` (the reverse).
    """
    text = text.strip()
    if not text:
        return Parsed(())
    *sentences, rest = text.translate(_PLAIN).split("。")
    problems: list[tuple[str, str]] = [("cut", rest)] if rest.strip() else []
    whole, comma, _ = rest.rpartition("、")
    sentences += [whole] if comma and ":" in whole else []  # an opinion with a 、 behind it was written to its end
    head = [name.strip() for name in sentences.pop(0).split("、")] if template == "2" and sentences else []
    triplets: list[WrittenTriplet] = []
    for sentence in sentences:
        in_sentence, wrong = _sentence(sentence)
        problems += wrong + [
            ("repeated", _shown(triplet))
            for i, triplet in enumerate(in_sentence)
            if triplet in triplets or triplet in in_sentence[:i]
        ]
        triplets += [triplet for triplet in dict.fromkeys(in_sentence) if triplet not in triplets]
    if template == "2":
        described = list(dict.fromkeys(aspect for aspect, _, _ in triplets))
        problems += [("unnamed", aspect) for aspect in described if aspect not in head]
        problems += [("undescribed", aspect) for aspect in head if aspect not in described]
    return Parsed(tuple(triplets), tuple(problems))


def _sentence(sentence: str) -> tuple[list[WrittenTriplet], list[tuple[str, str]]]:
    aspect, colon, opinions = sentence.partition(":")
    if not colon or not aspect.strip() or not opinions:
        return [], [("form", sentence)]
    triplets: list[WrittenTriplet] = []
    problems: list[tuple[str, str]] = []
    for part in opinions.split("、"):
        opinion, bracket, name = part.partition("(")
        if not bracket or not opinion.strip() or not name.endswith(")") or ":" in part:
            problems.append(("form", part))
        elif name[:-1] not in POLARITY:
            problems.append(("polarity", part))
        else:
            triplets.append((aspect.strip(), opinion.strip(), POLARITY[name[:-1]]))
    return triplets, problems


def _shown(triplet: WrittenTriplet) -> str:
    return f"{triplet[0]}：{triplet[1]}({POLARITY_NAMES[triplet[2]]})"


def locate(text: str, triplet: WrittenTriplet, source: str, confidence: float | None = None) -> Triplet | str:
    """The triplet that an answer says, at its place in the review; or the reason why it has none."""
    aspect, opinion, polarity = triplet
    located = nearest(text, aspect, opinion)
    owner: Element | None = None
    if located is None and aspect.endswith("]") and "[" in aspect:
        name, _, attribute = aspect[:-1].partition("[")
        if (pair := nearest(text, name, attribute)) is not None and (whole := _joined(text, *pair[0])) is not None:
            owner, aspect = pair[0][0], whole.text
            located = _beside(text, whole, opinion)
    if located is None:
        return "opinion-not-in-text" if _stands(text, aspect, owner) else "aspect-not-in-text"
    (aspect_at, opinion_at), choices = located
    reasons = Reasons(places=choices) if choices > 1 else None
    return Triplet(
        aspect_at, envelope(text, aspect_at), opinion_at, envelope(text, opinion_at), polarity, VALENCE[polarity],
        owner, source, (), confidence, reasons
    )  # fmt: skip


def _joined(text: str, owner: Element, attribute: Element) -> Element | None:
    """餐點的口感: owner and attribute in one piece, if the attribute follows closely."""
    if not owner.end <= attribute.start <= owner.end + 1:
        return None
    return Element(text[owner.start : attribute.end], ((owner.start, attribute.end),))


def _beside(text: str, aspect: Element, opinion: str) -> tuple[tuple[Element, Element], int] | None:
    choices = places(Folded.of(text), opinion)
    if not choices:
        return None
    spans = min(choices, key=lambda spans: (max(spans[0][0] - aspect.end, aspect.start - spans[-1][1]), spans))
    return (aspect, Element.at(text, spans)), len(choices)


def _stands(text: str, aspect: str, owner: Element | None) -> bool:
    return owner is not None or bool(places(Folded.of(text), aspect))


def judge_question(text: str, triplet: WrittenTriplet) -> str:
    """The two questions of section 3.3.2 about one triplet, as in Figure 8."""
    aspect, opinion, polarity = triplet
    first, second = (
        f"{opinion}在以下文字是描述{aspect}嗎？",
        f"{opinion}在以下文字對{aspect}是{POLARITY_NAMES[polarity]}的描述嗎？",
    )
    return f"question: {first} {second}  context: {text}"


def judge_answers(triplet: WrittenTriplet) -> dict[Verdict, str]:
    """The three answers: yes and yes, yes and no, no (the second answer does not matter, so it is not given)."""
    aspect, opinion, polarity = triplet
    yes = f"是，{opinion}是描述{aspect}。"
    return {
        "YY": f"{yes}是，{opinion}對{aspect}是{POLARITY_NAMES[polarity]}的描述。",
        "YN": f"{yes}不是，{opinion}對{aspect}不是{POLARITY_NAMES[polarity]}的描述。",
        "NX": f"不是，{opinion}不是描述{aspect}。",
    }
