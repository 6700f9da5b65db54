"""`gpt2` (Li et al. 2020, appendix A): a causal language model is told the aspects and half of the sentence, and
writes the other half.

In: sentences with aspects. Out: up to `copies` candidates, the best beams. The model is trained on `[ASP] aspect
[ASP] aspect [BOS] sentence [EOS]`. Nothing forces it to say the aspects again: where the new half has those of the
old one, in their order, the candidate's edits leave them alone; where not, the edit covers them, and a constraint
will see it. Bases: `embedded`, trained on the sentences alone, or any causal language model of a hub or a folder.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from builder.augment.records import Edit, Mark, Rewrite, Sentence
from builder.augment.replacing import unit_inventory
from builder.augment.training import KINDS, LATER, Training, describe_training, kept, sign_method
from builder.core.errors import ModelError
from builder.core.limits import Limits, among, at_least

if TYPE_CHECKING:
    from builder.augment.nets.beam import Beams
    from builder.augment.nets.causal import Causal, Continuation, Opening
    from builder.learning.pieces import Cut, Inventory
    from builder.learning.task import Progress

NAME = "gpt2"
MARKS = ("[ASP]", "[BOS]")
_CHUNK = 4096


@dataclass(frozen=True, slots=True)
class Gpt2Settings(Training):
    """Half of the sentence is written anew (Li et al. 2020, appendix A)."""

    base: str = "embedded"
    """`embedded`, or a causal language model: a hub name or a folder."""
    keep: str = "aspect"
    """Words that the prefix names: `aspect` or `aspect+opinion`."""
    beams: int = field(default=5, metadata=LATER)
    """Beams of the search."""
    again: bool = field(default=False, metadata=LATER)
    """The old half counts as a new one too."""
    epochs: int = 20
    patience: int = 2
    layers: int = 4
    """Layers of the embedded model."""

    def limits(self) -> Limits:
        return Training.limits(self) | {
            "keep": among(tuple(KINDS), self.keep),
            "beams": at_least(1, self.beams),
            "layers": at_least(1, self.layers),
        }


@dataclass(frozen=True, slots=True)
class Special:
    """The ids of [ASP], [BOS] and [EOS]."""

    aspect: int
    begin: int
    end: int


@dataclass(frozen=True, slots=True, eq=False)
class Gpt2:
    """A trained model as a Method."""

    settings: Gpt2Settings
    network: Causal
    inventory: Inventory
    special: Special
    digest: str
    progress: Progress | None = None
    name: str = NAME

    @property
    def signature(self) -> str:
        return sign_method(NAME, self.settings, f"model {self.digest[:16]}")

    def propose(self, sentences: Sequence[Sentence], copies: int, seed: int) -> Iterator[tuple[Rewrite, ...]]:
        """Nothing is drawn by chance here: `seed` changes nothing. A sentence of fewer than two tokens has no halves
        and no candidates.
        """
        for at in range(0, len(sentences), _CHUNK):
            yield from self._chunk(sentences[at : at + _CHUNK], copies)

    def _chunk(self, sentences: Sequence[Sentence], copies: int) -> Iterator[tuple[Rewrite, ...]]:
        from builder.augment.nets.beam import SearchRules, SearchSize, banned
        from builder.augment.nets.causal import write
        from builder.learning.pieces import own_marks

        plans = [(n, *plan) for n, sentence in enumerate(sentences) for plan in self._opened(sentence)]
        how, inventory, end = self.settings, self.inventory, self.special.end
        rewrites: dict[int, tuple[Rewrite, ...]] = {}
        openings = [opening for *_, opening in plans]
        never = banned(inventory.size, [i for i in inventory.never if i != end])
        rules = SearchRules(never, end, own_marks(inventory))
        size = SearchSize(how.beams, how.batch, how.threads)
        for i, beams in write(self.network, openings, rules, size, self.progress):
            n, cut, half, _ = plans[i]
            rewrites[n] = tuple(self._candidates(sentences[n], cut, half, beams))[:copies]
        for n in range(len(sentences)):
            yield rewrites.get(n, ())

    def _opened(self, sentence: Sentence) -> Iterator[tuple[Cut, int, Opening]]:
        from builder.augment.nets.causal import Opening

        cut = self.inventory.cut(sentence.text, sentence.words)
        marks = kept(sentence, self.settings.keep)
        half = halved(cut, marks)
        left = len(cut) - half
        opening = Opening(
            (*prefix(cut, marks, self.special), *cut.ids[:half]), max(1, left // 2), left + max(4, left // 2)
        )
        if half and left > 0 and len(opening.prefix) + opening.most < self.network.longest:
            yield cut, half, opening

    def _candidates(self, sentence: Sentence, cut: Cut, half: int, beams: Beams) -> Iterator[Rewrite]:
        start, seen = cut.spans[half - 1][1], set[str]()
        for tokens, score in beams.sequences:
            if self.special.end not in tokens:
                continue
            new = self._text(sentence, cut, half, tokens[: tokens.index(self.special.end)])
            old = sentence.text[start:]
            if new and "\ufffd" not in new and new not in seen and (self.settings.again or new.split() != old.split()):
                seen.add(new)
                marks = [mark for mark in kept(sentence, self.settings.keep) if mark.start >= start]
                yield Rewrite(sentence.id, around(sentence.text, start, new, marks), score)

    def _text(self, sentence: Sentence, cut: Cut, half: int, ids: tuple[int, ...]) -> str:
        from builder.learning.pieces import Units

        if isinstance(self.inventory, Units):
            return self.inventory.read(ids, sentence.text[slice(*cut.spans[half - 1])])
        return str(self.inventory.read(ids, cut.ids[half - 1]))  # type: ignore[attr-defined]


def prefix(cut: Cut, marks: Sequence[Mark], special: Special) -> tuple[int, ...]:
    """C_X: [ASP] and the tokens of each aspect, then [BOS]."""
    out: list[int] = []
    for mark in marks:
        out += [
            special.aspect,
            *(i for i, (start, end) in zip(cut.ids, cut.spans, strict=True) if start < mark.end and mark.start < end),
        ]
    return (*out, special.begin)


def halved(cut: Cut, marks: Sequence[Mark]) -> int:
    """How many tokens stay: half of them, or more where a mark would be cut through."""
    half = len(cut) // 2
    while half and half < len(cut) and any(mark.start < cut.spans[half - 1][1] < mark.end for mark in marks):
        half += 1
    return half


def around(text: str, start: int, new: str, marks: Sequence[Mark]) -> tuple[Edit, ...]:
    """Edits that put `new` in place of text[start:] and leave the marks alone if `new` has their words in order; else
    one edit.
    """
    edits, at, done = [], start, 0
    for mark in marks:
        place = new.find(text[mark.start : mark.end], done)
        if place < 0:
            return (Edit(start, len(text), new),)
        edits.append(Edit(at, mark.start, new[done:place]))
        at, done = mark.end, place + mark.end - mark.start
    edits.append(Edit(at, len(text), new[done:]))
    return tuple(edit for edit in edits if text[edit.start : edit.end] != edit.text)


def load(
    settings: Gpt2Settings,
    sentences: Sequence[Sentence],
    folder: Path,
    seed: int = 0,
    progress: Progress | None = None,
    device: str = "auto",
) -> Gpt2:
    """The method with the model of these sentences and settings: read from `folder` or trained and kept there.

    Raises ModelError where the base is no causal language model or there is nothing to learn from, InputError where
    labels overlap.
    """
    from builder.augment.nets import causal
    from builder.learning.obtain import ModelShelf, load_or_train, split_held_out, training_key

    network, inventory, special, base = _network(settings, sentences, seed)
    stories = [_story(sentence, inventory, special, settings.keep) for sentence in sentences]
    fitting = [n for n, story in enumerate(stories) if len(story.follows) > 1 and len(story) < network.longest]
    if not fitting:
        raise ModelError(f"no sentence to learn from (of {len(sentences)})", where=NAME, fix="give more training text")
    learnt, held = split_held_out([sentences[n].id for n in fitting], 0.05, seed)
    schedule = settings.schedule(settings.epochs, sentences, 1e-3 if settings.base == "embedded" else 5e-5)
    key = training_key(
        NAME,
        (describe_training(settings), seed),
        [(sentence.id, story) for sentence, story in zip(sentences, stories, strict=True)],
        base,
        __name__,
    )
    items, checked = ([stories[fitting[n]] for n in part] for part in (learnt, held))
    digest = load_or_train(
        ModelShelf(folder, seed, progress, device),
        key,
        network,
        lambda run: causal.train(network, items, checked, schedule, run),
    )
    return Gpt2(settings, network.eval(), inventory, special, digest, progress)


def _network(
    settings: Gpt2Settings, sentences: Sequence[Sentence], seed: int
) -> tuple[Causal, Inventory, Special, str]:
    from builder.augment.nets import causal
    from builder.learning.pieces import ASPECT, BOS, EOS

    if settings.base == "embedded":
        units = unit_inventory(sentences, False, settings.min_count)
        return (
            causal.embedded(units.size, settings.width, settings.layers, seed),
            units,
            Special(ASPECT, BOS, EOS),
            "embedded",
        )
    network, inventory, digest = causal.based(settings.base, MARKS, seed)
    ids = inventory.tokenizer.convert_tokens_to_ids(list(MARKS))
    end = inventory.tokenizer.eos_token_id
    if end is None:
        raise ModelError(
            "the tokenizer has no end mark", where=settings.base, fix="use a causal language model with one"
        )
    return network, inventory, Special(ids[0], ids[1], int(end)), digest


def _story(sentence: Sentence, inventory: Inventory, special: Special, keep: str) -> Continuation:
    from builder.augment.nets.causal import Continuation

    cut = inventory.cut(sentence.text, sentence.words)
    return Continuation(prefix(cut, kept(sentence, keep), special), (*cut.ids, special.end))
