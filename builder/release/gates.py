"""What no release may hold: rows of another schema, spans that do not match their text, aspects with marks or over
their opinion, contradicting polarities, a text or near-duplicate in two splits, unmasked personal data. `verify` and
the release stage ask the same questions.

Checks that need all reviews of a release: repeated texts and ids, near-duplicates, personal data.
"""

from __future__ import annotations

import hashlib
import re
from bisect import bisect_right
from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from functools import cache
from itertools import accumulate, pairwise
from typing import Any, NamedTuple

import numpy as np

from builder.core.edges import edge_fault, shared
from builder.core.records import POLARITIES, VERDICTS
from builder.core.wording import counted
from builder.release import parquet_files
from builder.release.export.native_rows import ReviewRow, TripletRow, element, mismatch
from builder.release.shelf import FORMAT, is_bounded
from builder.reviews import masking as privacy
from builder.reviews.near_duplicates import links, normal
from builder.reviews.rare_pairs import Texts
from builder.reviews.text import hashed

_HALF = re.compile("[\ud800-\udfff]")
_NO_PLACE = 1 << 31
_NUMBERS = (int, float)
_NAMED = (str, type(None))
_TYPES: dict[str, tuple[type, ...]] = {
    "string": (str,), "number": _NUMBERS, "element": (dict,), "list": (list,), "list of strings": (list,),
}  # fmt: skip
_ELEMENT: dict[str, tuple[type, ...]] = {"text": (str,), "spans": (list,)}


@cache
def _due(what: str, layout: int) -> dict[str, tuple[type, ...]]:
    """The fields of a row or a triplet of a layout with their types, but for the one that a row may do without."""
    kinds = parquet_files.kinds_of(parquet_files.REVIEW if what == "row" else parquet_files.TRIPLET, layout)
    return {
        name: _TYPES[kind.removesuffix(" or null")] + ((type(None),) if kind.endswith(" or null") else ())
        for name, kind in kinds.items()
        if name != "unverified_negative"
    }


def schema_fault(row: Any, layout: int = FORMAT) -> str | None:
    """What keeps a value from being a row of a release of this layout, or None. Keys and types exactly, and nothing
    beside them.
    """
    if fault := _review_fault(row, layout):
        return fault
    for triplet in row["triplets"]:
        if fault := _keys("triplet", triplet, _due("triplet", layout)):
            return fault
        if layout > 2 and (fault := _judged(triplet)):
            return fault
        if triplet["polarity"] not in POLARITIES:
            return f"unknown polarity {triplet['polarity']!r}"
        if not 1 <= triplet["valence"] <= 10:
            return f"valence {triplet['valence']} is not from 1 to 10"
        for name in ("aspect", "aspect_full", "owner", "opinion", "opinion_full"):
            if triplet[name] is not None and (fault := _element(name, triplet[name])):
                return fault
        if not all(isinstance(word, str) for word in [*triplet["sources"], *triplet["rules"]]):
            return "sources and rules are names"
    return None


def _review_fault(row: Any, layout: int) -> str | None:
    """What is wrong with a row beside its triplets."""
    flag = row.get("unverified_negative") if isinstance(row, dict) else None
    kept = row.get("columns") if isinstance(row, dict) else None
    apart = {"unverified_negative"} if isinstance(flag, bool) else set()
    if isinstance(kept, dict) and all(isinstance(cell, _NAMED) for cell in kept.values()):
        apart.add("columns")
    rest = {key: value for key, value in row.items() if key not in apart} if apart and layout > 2 else row
    if fault := _keys("row", rest, _due("row", layout)):
        return fault
    if row["annotation"] not in ("gold", "silver"):
        return f"unknown annotation {row['annotation']!r}"
    if layout > 2 and flag is not (row["annotation"] == "silver" and not row["triplets"]):
        return (
            f"unverified_negative is {flag}, but the review is {row['annotation']} with "
            f"{counted(len(row['triplets']), 'triplet')}"
        )
    return None


def _judged(triplet: Mapping[str, Any]) -> str | None:
    """What is wrong with what a triplet's row says of confidence and verdict."""
    if triplet["confidence"] is not None and not 0 <= triplet["confidence"] <= 1:
        return f"confidence {triplet['confidence']} is not from 0 to 1"
    if triplet["verdict"] not in (*VERDICTS, None):
        return f"unknown verdict {triplet['verdict']!r}"
    return None


def _keys(what: str, value: Any, due: Mapping[str, tuple[type, ...]]) -> str | None:
    """What is wrong with the fields of an object. A truth value is no number here."""
    if not isinstance(value, dict):
        return f"a {what} is an object"
    if value.keys() != due.keys():
        return f"the keys of a {what} are {', '.join(due)}; not {', '.join(sorted(value.keys() ^ due.keys()))}"
    for key, types in due.items():
        kind = type(held := value[key])
        if kind is str:  # no format holds half a character, or an endless number
            good = str in types and (held.isascii() or not _HALF.search(held))
        else:
            good = kind in types and (kind not in _NUMBERS or is_bounded(held))
        if not good:
            return f"{what} has {key} = {held!r:.200}"
    return None


def _element(name: str, value: Any) -> str | None:
    if fault := _keys(name, value, _ELEMENT):
        return fault
    return None if all(map(_is_span, value["spans"])) else f"{name} has spans {value['spans']!r:.200}"


def _is_span(value: Any) -> bool:
    if type(value) is not list or len(value) != 2:
        return False
    start, end = value
    return type(start) is int and type(end) is int and 0 <= start < _NO_PLACE and 0 <= end < _NO_PLACE


def row_faults(row: ReviewRow, counted: Counter[str]) -> Iterator[str]:
    """Spans, their order, one pair with two polarities; counts go to `counted`."""
    counted["reviews"] += 1
    counted["gold"] += row["annotation"] == "gold"
    counted[f"{row['annotation']} layer"] += 1
    counted[f"{row['annotation']} triplets"] += len(row["triplets"])
    counted["unverified negatives"] += row.get("unverified_negative", False)
    polarities: dict[str, str] = {}
    for triplet in row["triplets"]:
        counted["triplets"] += 1
        counted[triplet["polarity"]] += 1
        if fault := mismatch(row["text"], triplet):
            yield fault
        yield from _disordered(triplet)
        if row["annotation"] == "silver":
            yield from _span_faults(row["text"], triplet)
        pair = f"{triplet['aspect']['spans']} {triplet['opinion']['spans']}"
        if pair in polarities:
            same = polarities[pair] == triplet["polarity"]
            problem = "stands twice" if same else f"is both {polarities[pair]} and {triplet['polarity']}"
            yield f"{triplet['aspect']['text']} {triplet['opinion']['text']} {problem}"
        polarities[pair] = triplet["polarity"]


def _disordered(triplet: TripletRow) -> Iterator[str]:
    for name in ("aspect", "opinion"):
        spans = triplet[name]["spans"]
        if any(a[1] > b[0] for a, b in pairwise(spans)):
            yield f"{name} has spans {spans} out of order"


def _span_faults(text: str, triplet: TripletRow) -> Iterator[str]:
    """What no silver triplet may have: an aspect that overlaps its opinion, or holds a mark that is no part of a
    name. People may say so.
    """
    if shared(element(triplet["aspect"]), element(triplet["opinion"])):
        yield f"aspect {triplet['aspect']['text']} overlaps its opinion {triplet['opinion']['text']}"
    for name in ("aspect", "aspect_full"):
        spans = triplet[name]["spans"]
        if all(0 <= start < end <= len(text) for start, end in spans) and (
            fault := edge_fault(privacy.worded(text), spans)
        ):
            yield f"{name} {fault}"


def unmasked(text: str, replacements: Collection[str] = tuple(privacy.REPLACEMENTS.values())) -> list[str]:
    """The kinds of personal data that a released text shows, of those that its release says are masked, by their
    `replacements`.

    Places' names are not known here.
    """
    kinds = {kind for _, _, kind in privacy.mask(text).masks if kind != "place"}
    return sorted(kind for kind in kinds if privacy.REPLACEMENTS[kind] in replacements)


def leaks(splits: Mapping[str, int], texts: Sequence[str]) -> list[tuple[str, int, str, int]]:
    """(split, row, split, row), rows from 0, of near-duplicates in different splits: not every pair, but one at least
    wherever there is one.

    `splits`: how many of the `normal` texts, in order, are of each. An augmentation layer (train-synonym) belongs to
    its split.
    """
    ends = list(accumulate(splits.values()))
    names = list(splits)

    def where(n: int) -> tuple[str, int]:
        split = bisect_right(ends, n)
        return names[split], n - (ends[split - 1] if split else 0)

    pairs = ((where(a), where(b)) for a, b in links(texts))
    return [(*first, *second) for first, second in pairs if first[0].partition("-")[0] != second[0].partition("-")[0]]


HASHED = 16
"""Bytes of the hash of a text or an id."""


class RowLook(NamedTuple):
    """What the checks need of a review: hashes of its text and id, its normal text, and the kinds of personal data that
    it shows.
    """

    text: bytes
    id: bytes
    normal: str
    shown: list[str]

    @classmethod
    def of(cls, row: ReviewRow, replacements: Collection[str], compared: bool = True) -> RowLook:
        """`replacements`: the masks that the release says it has. An older one has no mask for names of people.
        `compared`: whether it is compared with others; else its normal text is left empty.
        """
        text, normal_text = row["text"], normal(row["text"]) if compared else ""
        cells = filter(None, row.get("columns", {}).values())
        shown = dict.fromkeys(kind for part in (text, *cells) for kind in unmasked(part, replacements))
        return cls(hashed(text), hashed(row["id"]), normal_text, list(shown))


class WholeRelease:
    """The reviews of all splits as the gates need them: hashes of texts and ids, normal texts, and which show personal
    data.
    """

    def __init__(self) -> None:
        self._texts, self._ids = bytearray(), bytearray()
        self._normal, self._reviews = Texts(), Counter[str]()
        self._shown: list[str] = []

    def close(self) -> None:
        self._normal.close()

    def take(self, split: str, look: RowLook) -> None:
        """Add a review of a split or layer, in order."""
        self._texts += look.text
        self._ids += look.id
        self._normal.append(look.normal)
        self._reviews[split] += 1
        self._shown += [
            f"data/{split}.jsonl:{self._reviews[split]}: shows personal data: {kind}" for kind in look.shown
        ]

    def repeats(self) -> Iterator[str]:
        """The texts and ids that occur twice."""
        for what, hashes in (("text", self._texts), ("id", self._ids)):
            _, first, whose = np.unique(np.frombuffer(hashes, f"S{HASHED}"), return_index=True, return_inverse=True)
            for n in np.flatnonzero(first[whose] != np.arange(len(whose))).tolist():
                yield f"{self._where(n)}: its {what} stands in {self._where(int(first[whose[n]]))} too"

    def _where(self, n: int) -> str:
        for split, reviews in self._reviews.items():
            if n < reviews:
                return f"data/{split}.jsonl:{n + 1}"
            n -= reviews
        raise IndexError(n)

    def faults(self, apart: Mapping[str, str]) -> Iterator[str]:
        """Near-duplicates between splits, and personal data that is not masked.

        `apart`: by split the `digest_texts` of reviews that were searched for near-duplicates already: these very texts
        must stand in these very splits. Without it they are searched.
        """
        if not apart:
            for split, a, other, b in leaks(self._reviews, self._normal):
                yield f"data/{other}.jsonl:{b + 1}: is a near-duplicate of data/{split}.jsonl:{a + 1}"
        else:
            digests, nothing = self._digests(), digest_texts(b"")
            for split in {**apart, **digests}:
                if apart.get(split, nothing) != digests.get(split, nothing):
                    yield f"data/{split}.jsonl: holds other texts than were searched for near-duplicates"
        yield from self._shown

    def _digests(self) -> dict[str, str]:
        ends = list(accumulate(self._reviews.values(), initial=0))
        return {
            split: digest_texts(self._texts[HASHED * start : HASHED * end])
            for split, (start, end) in zip(self._reviews, pairwise(ends), strict=True)
        }


def digest_texts(hashes: bytes | bytearray) -> str:
    """What identifies the texts of a split, by the hashes of all (`text.hashed`), in order."""
    return hashlib.sha256(hashes).hexdigest()
