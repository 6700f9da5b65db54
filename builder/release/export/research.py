"""Formats of research: ASTE-Data-V2, Span-ASTE, PyABSA, GTS, SemEval-2022, BIO and the paper's. Pure.

The first three are a sentence of spaced tokens, `####`, and a Python list of triplets; a line is a review with all of
them. They look alike and differ: V2 lists every token of a span, Span-ASTE the first and the last (one of a single
token alone), PyABSA gives both as a tuple. The loader of PyABSA 2.4 pairs every aspect of a line with every opinion of
it: where a review has several of both, that loader adds pairs which the line does not hold.

GTS (Wu et al. 2020) is JSON with one entry for each aspect, its place and its opinions' as `tok\\B tok\\I tok\\O`.
SemEval-2022 task 10 is JSON with texts and `start:end` character offsets, which may be several. What a row says beside
places and polarities stands in the same objects of both. BIO has a character and the tag of its aspect on a line, a tab
between, and an empty line behind each review.

The format of the paper (Lu et al. 2024) is one JSON line a review with `question` and `answer` in its wording. An
answer is the aspects joined by 、, then for each `aspect：opinion(正面)、….`; an attribute stands in brackets behind
its owner, 餐點[口感]. What the format cannot hold (its own marks inside a term) is refused with a reason.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import takewhile

from builder.core.records import POLARITY_NAMES, Polarity, Triplet, aspect_text
from builder.release.export.native_rows import (
    STAND_INS,
    Labelled,
    Skipped,
    Spans,
    TripletLabel,
    continuous,
    indices,
    review_details,
    row_of,
    tokens,
    triplet_details,
    untokenisable,
)
from builder.release.export.native_rows import triplet as released

_MARK, _THREE = "####", "#### #### ####"
NO_HYPHEN = {**STAND_INS, "-": "\u2011"}
"""PyABSA's loader replaces hyphens by spaces, which would move every token behind them."""


# ---- ASTE-Data-V2: tok tok####[([16, 17], [15], 'POS')]


def dump_v2(reviews: Iterable[Labelled]) -> str:
    """A line for each review, with every token index of a span."""
    return "".join(_line(review, indices, _MARK) for review in reviews)


# ---- Span-ASTE: the first and the last token of a span


def dump_span_aste(reviews: Iterable[Labelled]) -> str:
    """A line for each review, with the first and the last token of a span."""
    return "".join(_line(review, lambda spans: sorted({spans[0][0], spans[0][1] - 1}), _THREE) for review in reviews)


def _line(
    review: Labelled, shown: Callable[[Spans], Sequence[int]], mark: str, stand_ins: Mapping[str, str] = STAND_INS
) -> str:
    triplets = [(shown(label.aspect), shown(label.opinion), label.polarity) for label in review.labels]
    return f"{_sentence(tokens(review.text, stand_ins))}{mark}{triplets!r}\n"


def _sentence(words: Sequence[str]) -> str:
    """A # at the end would run into the mark."""
    return " ".join(words) + (" " if words[-1] == "#" else "")


# ---- PyABSA: ((0, 1), (2, 5), 'NEU'), inclusive


def pyabsa_refused_text(text: str) -> str | None:
    """Why a text cannot be written as tokens that PyABSA's loader leaves as they are, or None."""
    return untokenisable(text, NO_HYPHEN)


def pyabsa_refused(label: TripletLabel) -> str | None:
    """Its loader drops a pair of equal spans."""
    return continuous(label) or ("aspect and opinion are the same place" if label.aspect == label.opinion else None)


def dump_pyabsa(reviews: Iterable[Labelled]) -> str:
    """A line for each review, with inclusive tuples."""
    return "".join(_line(review, lambda spans: (spans[0][0], spans[0][1] - 1), _MARK, NO_HYPHEN) for review in reviews)


# ---- GTS

SENTIMENTS: Mapping[Polarity, str] = {"POS": "positive", "NEG": "negative", "NEU": "neutral"}


def dump_gts(reviews: Iterable[Labelled]) -> str:
    """A JSON array with an entry for each review."""
    return json.dumps([_gts_entry(review) for review in reviews], ensure_ascii=False, indent=1) + "\n"


def _gts_entry(review: Labelled) -> dict[str, object]:
    words = tokens(review.text)
    triples = [_triple(f"{review.id}-{n}", words, group) for n, group in enumerate(_grouped(review.labels))]
    return {"id": review.id, "sentence": " ".join(words)} | review_details(review) | {"triples": triples}


def _triple(uid: str, words: list[str], group: Sequence[TripletLabel]) -> dict[str, object]:
    triple: dict[str, object] = {
        "uid": uid,
        "target_tags": _tags(words, [group[0].aspect]),
        "opinion_tags": _tags(words, [label.opinion for label in group]),
        "sentiment": SENTIMENTS[group[0].polarity],
    }
    details = [triplet_details(label) for label in group]
    return triple | {"triplets": details} if any(details) else triple


def _grouped(labels: Iterable[TripletLabel]) -> list[list[TripletLabel]]:
    """A group for each aspect and polarity, and more where its opinions overlap, which tags cannot show."""
    groups: list[list[TripletLabel]] = []
    for label in labels:
        for group in groups:
            last = group[-1]
            same = (last.aspect, last.polarity) == (label.aspect, label.polarity)
            if same and last.opinion[0][1] <= label.opinion[0][0]:
                group.append(label)
                break
        else:
            groups.append([label])
    return groups


def _tags(words: list[str], elements: list[Spans]) -> str:
    tags = ["O"] * len(words)
    for ((start, end),) in elements:
        tags[start:end] = ["B"] + ["I"] * (end - start - 1)
    return " ".join(f"{word}\\{tag}" for word, tag in zip(words, tags, strict=True))


# ---- SemEval-2022

SEMEVAL_NAMES: Mapping[Polarity, str] = {"POS": "Positive", "NEG": "Negative", "NEU": "Neutral"}


def dump_semeval(reviews: Iterable[Labelled]) -> str:
    """A JSON array with an entry for each review."""
    return json.dumps([_semeval_entry(review) for review in reviews], ensure_ascii=False, indent=1) + "\n"


def _semeval_entry(review: Labelled) -> dict[str, object]:
    def element(spans: Spans) -> list[list[str]]:
        return [[review.text[start:end] for start, end in spans], [f"{start}:{end}" for start, end in spans]]

    opinions = [
        {
            "Source": [[], []],
            "Target": element(label.aspect),
            "Polar_expression": element(label.opinion),
            "Polarity": SEMEVAL_NAMES[label.polarity],
            "Intensity": "Average",
        }
        | triplet_details(label)
        for label in review.labels
    ]
    return {"sent_id": review.id, "text": review.text} | review_details(review) | {"opinions": opinions}


# ---- BIO

_ID = "# id = "
_BREAKS = str.maketrans({"\\": "\\\\", "\n": "\\n", "\r": "\\r", "\t": "\\t"})
"""An id stands on one line as it is, white space included; line breaks and tabs are written \\n, \\r and \\t, a
backslash twice.
"""


def tagged_aspects(review: Labelled) -> tuple[list[Spans], list[Skipped]]:
    """The aspects that tags can show, in order, and those they cannot: interrupted, or over one that stands before."""
    kept: list[Spans] = []
    skipped = []
    for aspect, label in sorted({label.aspect: label for label in reversed(review.labels)}.items()):
        (start, _), *more = aspect
        if more:
            reason = "the aspect is interrupted"
        elif kept and kept[-1][0][1] > start:
            reason = "the aspect overlaps another one"
        else:
            kept.append(aspect)
            continue
        skipped.append(Skipped(review.id, label, reason))
    return kept, skipped


def count_aspects(review: Labelled) -> int:
    """How many aspects are to be tagged."""
    return len({label.aspect for label in review.labels})


def bio_refused(review: Labelled) -> Skipped | None:
    """The first aspect that tags cannot show, or None."""
    return next(iter(tagged_aspects(review)[1]), None)


def dump_bio(reviews: Iterable[Labelled]) -> str:
    """The reviews one after the other, each behind a line with its id."""
    return "".join(line for review in reviews for line in _bio_lines(review))


def _bio_lines(review: Labelled) -> Iterator[str]:
    kept, _ = tagged_aspects(review)
    yield f"{_ID}{review.id.translate(_BREAKS)}\n"
    for at, token in enumerate(tokens(review.text)):
        inside = next((start for ((start, end),) in kept if start <= at < end), None)
        yield f"{token}\t{'O' if inside is None else 'B' if inside == at else 'I'}\n"
    yield "\n"


# ---- The paper

_POLARITIES = {name: polarity for polarity, name in POLARITY_NAMES.items()}
_MARKS = re.compile("[、。：()\\n]")
_NO_OPINION = re.compile(r"：|.\((?:正面|負面|中性)\)", re.S)
"""What an opinion does not hold: a colon, or another opinion's end."""
_CONTEXT = "context: "
"""What a review begins behind, in the question that names the aspects."""


def paper_refused(triplet: Triplet) -> str | None:
    """Why the format cannot hold a triplet, or None."""
    for name, text in (("aspect", aspect_text(triplet)), ("opinion", triplet.opinion.text)):
        if _MARKS.search(text) or _CONTEXT in text:
            return f"the {name} {text!r} holds a mark of the format"
        if text != text.strip():
            return f"the {name} {text!r} begins or ends with white space"
    return None


def paper_refused_review(review: Labelled) -> Skipped | None:
    """The first triplet that the format cannot hold, or None."""
    for written in map(released, row_of(review)["triplets"]):
        if reason := paper_refused(written):
            return Skipped(
                review.id, TripletLabel(written.aspect.spans, written.opinion.spans, written.polarity), reason
            )
    return None


def dump_paper(reviews: Iterable[Labelled], given: bool = True) -> str:
    """A line for each review, which keeps the number of its row whatever is left out before it."""
    return "".join(
        json.dumps(
            {"id": review.number}
            | paper_row(review.text, list(map(released, row_of(review)["triplets"])), given, review.id),
            ensure_ascii=False,
        )
        + "\n"
        for review in reviews
    )


def paper_row(text: str, triplets: Sequence[Triplet], given: bool = True, review: str = "") -> dict[str, str]:
    """A review as the paper's file has it behind its integer id; `review` is its own id, which stands beside that.
    Triplets must not be `paper_refused`.

    `given`: the questions name the aspects of the answer, as in the released files; else the input is open, the
    review alone.
    """
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


def parse_paper(answer: str) -> list[tuple[str, str, Polarity]]:
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
