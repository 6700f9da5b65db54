"""Treebanks as the parser learns from them: CoNLL-U files, in the engine's own labels, made more like reviews.

In: a path. Out: a `TreebankSentence` for each tree, with 0-based heads (-1 is the root). Multiword ranges and empty
nodes carry no edge of the tree and are left out. A line that is not CoNLL-U stops the reading: a silently shortened
treebank trains a silently worse parser.

A sentence becomes more like a review with no final mark, marks missing inside, and clauses that stand alone. Nothing is
invented; only punctuation that nothing hangs on goes, and only clauses that the tree itself holds together are cut out.

Foreign tags and relations become the universal tags and UD v1 relations that engine and parser know (rules/labels.tsv),
those of other segmenters and parsers too. One table for both schemes, so that a person sees the differences side by
side: `ckip-pos` (CKIP's Sinica tags) and `ud2` (relations of UD v2).
A label followed by a space and a word holds for that word only: UD v2 knows 不 as an advmod, UD v1 as a neg. The rows
of `ud2` were counted on the sentences that GSD has in both versions; the tags, on what GSD v1 gives the words that
Sinica's treebank gives each tag.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from random import Random
from types import MappingProxyType

from builder.core.errors import InputError, ResourceError
from builder.core.files import digest_file, read_text
from builder.core.wording import counted
from builder.language.lexicon.packs import data_dir
from builder.language.lexicon.tsv_rows import read_rows

# ---- Sentences of a treebank

TAGS_V1 = {"CCONJ": "CONJ", "SCONJ": "ADV", "INTJ": "PART"}
"""Tags of UD v2 that GSD v1 does not have, and what it uses instead (雖然 ADV, 和 CONJ, 啊 PART)."""


@dataclass(frozen=True, slots=True)
class TreebankSentence:
    """A tree: four columns of equal length. Head -1 is the root."""

    words: tuple[str, ...]
    tags: tuple[str, ...]
    heads: tuple[int, ...]
    rels: tuple[str, ...]

    def __len__(self) -> int:
        return len(self.words)


def read(path: Path) -> list[TreebankSentence]:
    """All sentences of a CoNLL-U file; an InputError names the file and line that is broken."""
    return list(_sentences(read_text(path, "give a CoNLL-U file in UTF-8"), str(path)))


def _sentences(text: str, name: str) -> Iterator[TreebankSentence]:
    rows: list[tuple[str, str, int, str]] = []
    for number, line in enumerate(text.split("\n"), 1):
        if not line.strip():
            if rows:
                yield _sentence(rows, f"{name}:{number}")
            rows = []
        elif not line.startswith("#"):
            row = _row(line, f"{name}:{number}")
            if row is not None:
                rows.append(row)
    if rows:
        yield _sentence(rows, name)


def _row(line: str, where: str) -> tuple[str, str, int, str] | None:
    columns = line.rstrip("\r").split("\t")
    if len(columns) != 10:
        raise InputError(
            f"{counted(len(columns), 'column')} instead of 10",
            where=where,
            fix="columns of CoNLL-U are separated by tabs",
        )
    if not columns[0].isdigit():
        return None
    if not columns[6].isdigit():
        raise InputError(f"head {columns[6]!r} is not a number", where=where)
    return columns[1], columns[3], int(columns[6]) - 1, columns[7]


def _sentence(rows: list[tuple[str, str, int, str]], where: str) -> TreebankSentence:
    words, tags, heads, rels = zip(*rows, strict=True)
    if not all(-1 <= head < len(rows) for head in heads):
        raise InputError("a head points outside its sentence", where=where)
    return TreebankSentence(words, tags, heads, rels)


def surface(words: Sequence[str]) -> tuple[str, list[tuple[int, int]]]:
    """The text of words and their spans. Chinese is glued; two Latin words get the space that keeps them two."""
    text, spans = "", []
    for word in words:
        if text and text[-1].isascii() and text[-1].isalnum() and word[0].isascii() and word[0].isalnum():
            text += " "
        spans.append((len(text), len(text) + len(word)))
        text += word
    return text, spans


# ---- Sentences more like reviews


def keep(sentence: TreebankSentence, kept: Collection[int]) -> TreebankSentence:
    """The words of `kept` alone. Heads outside become the root; the caller sees to it that there is one."""
    order = sorted(kept)
    place = {old: new for new, old in enumerate(order)}
    heads = tuple(place.get(sentence.heads[i], -1) for i in order)
    rels = tuple(sentence.rels[i] if sentence.heads[i] in place else "root" for i in order)
    return TreebankSentence(
        tuple(sentence.words[i] for i in order), tuple(sentence.tags[i] for i in order), heads, rels
    )


def without_final_mark(sentence: TreebankSentence) -> TreebankSentence:
    """The sentence without the mark that ends it, if there is one and nothing hangs on it."""
    last = len(sentence) - 1
    if last < 1 or sentence.tags[last] != "PUNCT" or last in sentence.heads:
        return sentence
    return keep(sentence, range(last))


def without_marks(sentence: TreebankSentence, random: Random, share: float) -> TreebankSentence:
    """Each mark inside lost with probability `share`."""
    used = set(sentence.heads)
    lost = {i for i, tag in enumerate(sentence.tags) if tag == "PUNCT" and i not in used and random.random() < share}
    return keep(sentence, [i for i in range(len(sentence)) if i not in lost]) if len(lost) < len(sentence) else sentence


def clauses(sentence: TreebankSentence, shortest: int = 4) -> list[TreebankSentence]:
    """The stretches between commas that are trees of their own: one head outside, closed in themselves."""
    cuts = [i for i, word in enumerate(sentence.words) if word in ",，;；" and sentence.tags[i] == "PUNCT"]
    edges = [-1, *cuts, len(sentence)]
    stretches = [range(a + 1, b) for a, b in pairwise(edges) if b - a - 1 >= shortest and b - a - 1 < len(sentence) - 1]
    return [keep(sentence, part) for part in stretches if sum(sentence.heads[i] not in part for i in part) == 1]


def review_like(sentence: TreebankSentence, random: Random) -> TreebankSentence:
    """One draw: half without the final mark, a third without some of the others, a fifth a single clause."""
    if random.random() < 0.2 and (parts := clauses(sentence)):
        return random.choice(parts)
    if random.random() < 0.5:
        sentence = without_final_mark(sentence)
    return without_marks(sentence, random, 0.4) if random.random() < 0.33 else sentence


# ---- Foreign labels

HEADER = ("scheme", "label", "ours", "note")
SCHEMES = ("ckip-pos", "ud2")


@dataclass(frozen=True, slots=True)
class Labels:
    """`table` maps (scheme, "label" or "label word") to our label; `where` names its file in errors."""

    table: Mapping[tuple[str, str], str]
    digest: str
    where: str

    def ours(self, scheme: str, label: str, word: str = "") -> str:
        """Our label. One that the table lacks is an error, never a guess."""
        own = self.table.get((scheme, f"{label} {word}")) or self.table.get((scheme, label))
        if own is None:
            self.require(scheme, (label,))
        assert own, f"{scheme} {label!r} is in the table without a label of ours"
        return own

    @property
    def parts_of_speech(self) -> dict[str, str]:
        """CKIP's parts of speech and our own, each with ours."""
        tags = {
            label: ours for (scheme, label), ours in self.table.items() if scheme == "ckip-pos" and " " not in label
        }
        return {tag: tag for tag in tags.values()} | tags

    def require(self, scheme: str, labels: Iterable[str]) -> None:
        """Refuse a model whose labels the table does not know, before it reads its first text."""
        missing = sorted({label for label in labels if (scheme, label) not in self.table})
        if missing:
            raise ResourceError(
                f"no row for the {scheme} label {', '.join(map(repr, missing))}",
                where=self.where,
                fix="add it to the table",
            )


def load_labels(path: Path | None = None) -> Labels:
    """Read the table. ResourceError with file:line on a broken row, an unknown scheme, or a
    label listed twice.
    """
    path = path or data_dir("rules") / "labels.tsv"
    table: dict[tuple[str, str], str] = {}
    for (scheme, label, ours, _), where in read_rows(path, len(HEADER), HEADER):
        if scheme not in SCHEMES:
            raise ResourceError(f"unknown scheme {scheme!r}", where=where, fix=f"known: {', '.join(SCHEMES)}")
        if (scheme, label) in table:
            raise ResourceError(f"{scheme} {label!r} is listed already", where=where, fix="keep one")
        table[scheme, label] = ours
    return Labels(MappingProxyType(table), digest_file(path)[:12], str(path))
