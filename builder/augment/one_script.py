"""One script for a model: in a release of both, every character would be two, each learnt from a part of the text.

Where any sentence is Traditional, all are shown to the model in Traditional, and what it writes for a Simplified one
is converted back: that way nothing is ambiguous but a handful of characters, the other way hundreds are. A sentence
that is the same in both counts as Traditional. Lengths never change, so that labels and edits stay where they are.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

from builder.augment.records import Changed, Edit, Method, Rewrite, Sentence
from builder.reviews.script import same_script, script_of, tells_script

_OTHER = ("simplified", "mixed")


@dataclass(frozen=True, slots=True)
class OneScript:
    """A method that reads and writes Traditional, for sentences of both scripts."""

    method: Method

    @property
    def name(self) -> str:
        return self.method.name

    @property
    def signature(self) -> str:
        return f"{self.method.signature} in Traditional"

    @property
    def digest(self) -> str | None:
        digest: str | None = getattr(self.method, "digest", None)
        return digest

    def propose(self, sentences: Sequence[Sentence], copies: int, seed: int) -> Iterator[tuple[Rewrite, ...]]:
        rewrites = self.method.propose(list(map(shown, sentences)), copies, seed)
        for sentence, candidates in zip(sentences, rewrites, strict=True):
            yield tuple(_back(sentence, candidates) if script_of(sentence.text) == "simplified" else candidates)


def in_one_script(sentences: Sequence[Sentence]) -> tuple[tuple[Sentence, ...], Callable[[Method], Method]]:
    """The sentences as a model of their own reads them, and what makes a method of that model one for the sentences
    as they are.
    """
    scripts = {
        script_of(sentence.text) for sentence in sentences if sentence.language == "zh" and tells_script(sentence.text)
    }
    if "traditional" not in scripts or scripts.isdisjoint(_OTHER):
        return tuple(sentences), lambda method: method
    return tuple(map(shown, sentences)), OneScript


def shown(sentence: Sentence) -> Sentence:
    """A sentence in Traditional."""
    return (
        replace(sentence, text=same_script(sentence.text, "traditional"))
        if sentence.language == "zh" and script_of(sentence.text) in _OTHER
        else sentence
    )


def _back(sentence: Sentence, candidates: Iterable[Rewrite]) -> Iterator[Rewrite]:
    """Candidates as the Simplified sentence takes them; none of which nothing is left."""
    for candidate in candidates:
        converted = (Edit(edit.start, edit.end, same_script(edit.text, "simplified")) for edit in candidate.edits)
        edits = tuple(edit for edit in converted if edit.text != sentence.text[edit.start : edit.end])
        changed = tuple(
            Changed(mark.start, mark.end, same_script(mark.text, "simplified"), mark.polarity, mark.valence)
            for mark in candidate.changed
        )
        if edits:
            yield replace(candidate, edits=edits, changed=changed)
