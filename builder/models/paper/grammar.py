"""Constrained decoding: which tokens may come next so that an answer parses and names only what stands in the review.
Pure, no torch.

The language is that of `templates.answer`: every aspect and every opinion is a subsequence of the review (skips of at
most `locate.MAX_GAP` characters, as negation needs), every polarity one of three, and with template 2 the sentences
describe exactly the aspects that the first one names, in its order. The automaton works on folded characters and
remembers, while a term is being copied, the set of places where its last character may stand; tokens of any length
are allowed by walking a sorted vocabulary along it.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import NamedTuple

from builder.core.records import POLARITY_NAMES
from builder.models.paper.templates import MARKS, MAX_GAP, Template, fold

_STRUCTURE = frozenset(MARKS + "[]")
_POLARITIES = tuple(f"{name})" for name in POLARITY_NAMES.values())


@dataclass(frozen=True, slots=True, eq=False)
class VocabularyPieces:
    """A vocabulary as folded strings, sorted, with the ids beside them; `text[id]` is what a token writes (special
    ones are not in it), and `begin` where the strings with the same first two characters stand.
    """

    strings: tuple[str, ...]
    ids: tuple[int, ...]
    text: dict[int, str]
    eos: int
    begin: dict[str, tuple[int, int]]

    @classmethod
    def of(cls, pieces: Iterable[tuple[int, str]], eos: int) -> VocabularyPieces:
        folded_pieces = sorted((folded, i) for i, text in pieces if (folded := fold(text)))
        begin: dict[str, tuple[int, int]] = {}
        for at, (text, _) in enumerate(folded_pieces):
            begin[text[:2]] = (begin.get(text[:2], (at, 0))[0], at + 1)
        return cls(
            tuple(text for text, _ in folded_pieces),
            tuple(i for _, i in folded_pieces),
            {i: text for text, i in folded_pieces},
            eos,
            begin,
        )

    def written_with(self, chars: frozenset[str]) -> tuple[list[str], list[int]]:
        """The strings, still sorted, that have no other characters, and their ids: some hundreds."""
        starts = sorted({*chars, *(a + b for a in chars for b in chars)} & self.begin.keys())
        at = [i for start in starts for i in range(*self.begin[start]) if chars.issuperset(self.strings[i])]
        return [self.strings[i] for i in at], [self.ids[i] for i in at]


class State(NamedTuple):
    """Where an answer stands. `at`: folded review positions of the last copied character (empty: nothing copied yet);
    `name`: the aspect so far; `aspects`: those named; `number`: which of them is described; `rest`: what of a fixed
    text is still to come.
    """

    node: str
    at: frozenset[int] = frozenset()
    name: str = ""
    aspects: tuple[str, ...] = ()
    number: int = 0
    rest: str = ""


START, NAME, ATTRIBUTE, CLOSED, FIXED, OPINION, POLARITY, TOLD, END = (
    "start", "name", "attribute", "closed", "fixed", "opinion", "polarity", "told", "end",
)  # fmt: skip


@dataclass(frozen=True, slots=True, eq=False)
class AnswerGrammar:
    """The answers that a review allows. `allowed` and `advance` are all that decoding needs."""

    review: str
    template: Template
    pieces: VocabularyPieces
    strings: list[str]
    ids: list[int]
    _next: dict[State, tuple[int, ...]] = field(default_factory=dict)

    @classmethod
    def of(cls, text: str, template: Template, pieces: VocabularyPieces) -> AnswerGrammar:
        folded = fold(text)
        return cls(
            folded,
            template,
            pieces,
            *pieces.written_with(frozenset(folded) | _STRUCTURE | set("".join(POLARITY_NAMES.values())) | {" "}),
        )

    def start(self) -> State:
        return State(START)

    def allowed(self, state: State) -> tuple[int, ...]:
        """The ids that may follow; an answer ends where a vocabulary lacks the needed pieces."""
        if state not in self._next:
            tokens = tuple(self._walk(state, 0, len(self.strings), 0))
            # Template 1 has no list of aspects that says how many sentences are due: behind each there may be an end.
            done = state.node in (START, END) or (state.node == NAME and self.template == "1" and not state.name)
            self._next[state] = (*tokens, self.pieces.eos) if done or not tokens else tokens
        return self._next[state]

    def advance(self, state: State, token: int) -> State:
        """The state behind a token; END behind one that writes nothing or that was not allowed."""
        current: State | None = state
        for char in self.pieces.text.get(token, ""):
            current = None if current is None else self._step(current, char)
        return State(END) if current is None or token not in self.pieces.text else current

    def _walk(self, state: State, low: int, high: int, depth: int) -> Iterator[int]:
        """Ids of the strings in [low, high), which agree in their first `depth` characters, that go on from `state`."""
        strings = self.strings
        while low < high and len(strings[low]) == depth:
            if depth:
                yield self.ids[low]
            low += 1
        for char in self._chars(state) if low < high else ():
            first = bisect_left(strings, char, low, high, key=lambda string: string[depth])
            last = bisect_left(strings, chr(ord(char) + 1), first, high, key=lambda string: string[depth])
            if first < last and (after := self._step(state, char)) is not None:
                yield from self._walk(after, first, last, depth + 1)

    def _chars(self, state: State) -> list[str]:
        """The characters that may follow, sorted."""
        node = state.node
        if node == FIXED:
            return [state.rest[0]]
        if node == POLARITY:
            return sorted({end[len(state.rest)] for end in _POLARITIES if end.startswith(state.rest)})
        marks = {
            START: " ", NAME: ":[" if self.template == "1" else "、。[", ATTRIBUTE: "]", OPINION: "(", TOLD: "、。",
            END: "", CLOSED: ":" if self.template == "1" else "、。",
        }[node]  # fmt: skip
        copied = {self.review[i] for i in self._reach(state.at)} if node in (START, NAME, ATTRIBUTE, OPINION) else set()
        return sorted(copied - _STRUCTURE | set(marks))

    def _reach(self, at: frozenset[int]) -> Iterable[int]:
        if not at:
            return range(len(self.review))
        return {j for i in at for j in range(i + 1, min(len(self.review), i + MAX_GAP + 2))}

    def _step(self, state: State, char: str) -> State | None:
        node = state.node
        if node == START and char == " ":
            return state
        if node == FIXED:
            return self._fixed(state, char)
        if node == POLARITY:
            rest = state.rest + char
            if rest in _POLARITIES:
                return state._replace(node=TOLD, rest="")
            return state._replace(rest=rest) if any(end.startswith(rest) for end in _POLARITIES) else None
        if node == TOLD:
            return self._after_polarity(state, char)
        if node in (START, NAME, ATTRIBUTE, CLOSED, OPINION):
            return self._mark(state, char) if char in _STRUCTURE else self._copy(state, char)
        return None

    def _copy(self, state: State, char: str) -> State | None:
        if state.node == CLOSED or (char == " " and not state.at):
            return None
        at = frozenset(i for i in self._reach(state.at) if self.review[i] == char)
        if not at:
            return None
        node = NAME if state.node == START else state.node
        return state._replace(node=node, at=at, name=state.name + char if node != OPINION else "")

    def _mark(self, state: State, char: str) -> State | None:
        """A structural mark behind a term: only where something was copied."""
        node, none = state.node, frozenset[int]()
        if not state.at:
            return None
        if node == OPINION:
            return state._replace(node=POLARITY, at=none, rest="") if char == "(" else None
        if node == NAME and char == "[":
            return state._replace(node=ATTRIBUTE, at=none, name=state.name + "[")
        if node == ATTRIBUTE:
            return state._replace(node=CLOSED, name=state.name + "]") if char == "]" else None
        if node not in (NAME, CLOSED):
            return None
        if self.template == "1":
            return State(OPINION) if char == ":" else None
        if char == "、":
            return State(NAME, aspects=(*state.aspects, state.name))
        return self._describe((*state.aspects, state.name), 0) if char == "。" else None

    def _describe(self, aspects: tuple[str, ...], number: int) -> State:
        return State(FIXED, aspects=aspects, number=number, rest=f"{aspects[number].strip()}:")

    def _fixed(self, state: State, char: str) -> State | None:
        if char != state.rest[0]:
            return None
        return (
            state._replace(rest=state.rest[1:])
            if len(state.rest) > 1
            else State(OPINION, aspects=state.aspects, number=state.number)
        )

    def _after_polarity(self, state: State, char: str) -> State | None:
        if char == "、":
            return state._replace(node=OPINION, at=frozenset())
        if char != "。":
            return None
        if self.template == "1":
            return State(NAME)
        return self._describe(state.aspects, state.number + 1) if state.number + 1 < len(state.aspects) else State(END)
