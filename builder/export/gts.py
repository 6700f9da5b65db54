r"""GTS (Wu et al. 2020): JSON with one entry for each aspect, its place and its opinions' as `tok\B tok\I tok\O`.
Pure, both ways.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping

from builder.export.labels import Label, Labelled, Spans, checked, text_of, tokens
from builder.records import Polarity

SENTIMENTS: Mapping[Polarity, str] = {"POS": "positive", "NEG": "negative", "NEU": "neutral"}
_POLARITIES = {name: polarity for polarity, name in SENTIMENTS.items()}


def dump(reviews: Iterable[Labelled]) -> str:
    return json.dumps([_entry(one) for one in reviews], ensure_ascii=False, indent=1) + "\n"


def _entry(review: Labelled) -> dict[str, object]:
    words = tokens(review.text)
    triples = [
        {"uid": f"{review.id}-{n}", "target_tags": _tags(words, [aspect]), "opinion_tags": _tags(words, opinions), "sentiment": SENTIMENTS[polarity]}
        for n, (aspect, polarity, opinions) in enumerate(_grouped(review.labels))
    ]  # fmt: skip
    return {"id": review.id, "sentence": " ".join(words), "triples": triples}


def _grouped(labels: Iterable[Label]) -> Iterator[tuple[Spans, Polarity, list[Spans]]]:
    """One entry for each aspect and polarity, and more where its opinions overlap, which tags cannot show."""
    groups: list[tuple[Spans, Polarity, list[Spans]]] = []
    for one in labels:
        for aspect, polarity, opinions in groups:
            if (aspect, polarity) == (one.aspect, one.polarity) and opinions[-1][0][1] <= one.opinion[0][0]:
                opinions.append(one.opinion)
                break
        else:
            groups.append((one.aspect, one.polarity, [one.opinion]))
    yield from groups


def _tags(words: list[str], listed: list[Spans]) -> str:
    tags = ["O"] * len(words)
    for ((start, end),) in listed:
        tags[start:end] = ["B"] + ["I"] * (end - start - 1)
    return " ".join(f"{word}\\{tag}" for word, tag in zip(words, tags, strict=True))


def read(content: str) -> list[Labelled]:
    """ValueError if it is not in the format."""
    found = []
    for entry in json.loads(content):
        labels = [
            Label(aspect, opinion, _POLARITIES[one["sentiment"]])
            for one in entry["triples"]
            for aspect in _spans(one["target_tags"])
            for opinion in _spans(one["opinion_tags"])
        ]
        found.append(checked(Labelled(str(entry["id"]), text_of(entry["sentence"].split(" ")), tuple(labels))))
    return found


def _spans(tagged: str) -> list[Spans]:
    r"""The spans of `tok\B tok\I tok\O`."""
    found: list[tuple[int, int]] = []
    before = "O"
    for n, one in enumerate(tagged.split(" ")):
        tag = one[-1:]
        if tag == "B":
            found.append((n, n + 1))
        elif tag == "I" and before != "O":
            found[-1] = (found[-1][0], n + 1)
        elif tag != "O":
            raise ValueError(f"tag {one!r} at {n}")
        before = tag
    return [(span,) for span in found]
