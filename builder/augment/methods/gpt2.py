"""`gpt2` (Li et al. 2020, appendix A): a causal language model is told the aspects and half of the sentence, and writes
the other half.

Trained on `[ASP] aspect [ASP] aspect [BOS] sentence [EOS]`, by log p(S | C_X) (equation 8). Where the new half says the
aspects again in order, the edits leave them alone; where not, an edit covers them, and a constraint will see it.
Prefixes are written on in batches of one length, so that nothing is padded. Bases: `embedded`, or any causal language
model.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import chain, groupby
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional

from builder.augment.candidates import Edit, Mark, Rewrite, Sentence
from builder.augment.method_settings import HEADS, Gpt2Settings, describe_settings, sign_method
from builder.augment.methods.replacing import unit_inventory
from builder.augment.nets import bases
from builder.augment.nets.beam import Beams, SearchRows, SearchRules, banned, in_batches, search, settled
from builder.augment.nets.transformer import IGNORED, begun, padded
from builder.augment.training import Workplace, candidates_by_plan, kept, train_until_converged, trained
from builder.core.errors import ModelError
from builder.learning import hub
from builder.learning.checkpoint import tensor_digest
from builder.learning.devices import choose, device_of
from builder.learning.encode import batches
from builder.learning.loop import scope
from builder.learning.obtain import Measure, TrainingRun, load_or_train, split_held_out, training_key
from builder.learning.pieces import ASPECT, BOS, EOS, Cut, Inventory, Units, own_marks
from builder.learning.task import Progress, seed_of

# ---- Causal language models

_ROOM = 4096
"""Tokens of a batch that is only read."""


@dataclass(frozen=True, slots=True)
class Continuation:
    """C_X, and S with its end mark."""

    prefix: tuple[int, ...]
    follows: tuple[int, ...]

    def __len__(self) -> int:
        return len(self.prefix) + len(self.follows)


@dataclass(frozen=True, slots=True)
class Opening:
    """A prefix to write on: `least` to `most` tokens before the end mark."""

    prefix: tuple[int, ...]
    least: int
    most: int


class Causal(nn.Module):
    """A causal language model of transformers: all tokens at once, or some behind those that `state` remembers."""

    def __init__(self, network: Any) -> None:
        super().__init__()
        self.network = network
        self.longest = int(getattr(network.config, "max_position_embeddings", 512))

    def forward(self, ids: Tensor) -> Tensor:
        out: Tensor = self.network(input_ids=ids, use_cache=False).logits
        return out

    def read(self, ids: Tensor, state: list[Any]) -> Tensor:
        output = self.network(input_ids=ids, past_key_values=state[0] if state else None, use_cache=True)
        state[:] = [output.past_key_values]
        return torch.log_softmax(output.logits[:, -1].float(), -1)

    def select(self, rows: Tensor, state: list[Any]) -> None:
        state[0].batch_select_indices(rows)


def embedded(size: int, width: int, layers: int, seed: int) -> Causal:
    """A small GPT-2, untrained; the same seed gives the same weights."""
    shape = {
        "model_type": "gpt2", "vocab_size": size, "n_positions": 512, "n_embd": width, "n_layer": layers,
        "n_head": HEADS, "bos_token_id": BOS, "eos_token_id": EOS, "attn_pdrop": 0.0, "initializer_range": 0.05,
    }  # fmt: skip
    with scope(1, seed):
        network = hub.make_network("AutoModelForCausalLM", shape, "embedded", "augment")
        begun(network)
    return Causal(network)


def based(source: str, marks: Sequence[str], seed: int) -> tuple[Causal, bases.HubInventory, str]:
    """A causal language model with `marks` among its tokens, and the digest of its weights before that."""
    network, known = bases.load(source, hub.CAUSAL)
    digest = tensor_digest(dict(network.named_parameters()))
    tokenizer = known.tokenizer
    tokenizer.add_tokens(list(marks), special_tokens=True)
    with scope(1, seed):
        network.resize_token_embeddings(max(len(tokenizer), known.size), mean_resizing=False)
    return Causal(network), bases.inventory(network, tokenizer, source, masks=False), digest


def loss(network: Causal, items: Sequence[Continuation]) -> Tensor:
    """Equation 8 as a mean over the tokens of S."""
    device = device_of(network)
    ids = padded([[*item.prefix, *item.follows] for item in items]).to(device)
    due = padded([[*[IGNORED] * (len(item.prefix) - 1), *item.follows, IGNORED] for item in items], IGNORED).to(device)
    return functional.cross_entropy(network(ids).flatten(0, 1).float(), due.flatten(), ignore_index=IGNORED)


def measure_perplexity(source: str, threads: int, device: str, texts: Sequence[str]) -> float | None:
    """The perplexity of a model over all tokens that something precedes; None where there is none."""
    network, known = bases.load(source, hub.CAUSAL)
    place = choose(device)
    network.to(place).eval()
    longest = int(getattr(network.config, "max_position_embeddings", 512))
    cut = [known.tokenizer(text, add_special_tokens=False).input_ids[:longest] for text in texts]
    ids = [row for row in cut if len(row) > 1]
    total = number = 0.0
    with scope(threads), torch.inference_mode():
        for chosen in batches([len(row) for row in ids], _ROOM):
            shown = padded([ids[i] for i in chosen]).to(place)
            due = padded([[*ids[i][1:], IGNORED] for i in chosen], IGNORED).to(place)
            logits = network(input_ids=shown).logits
            total += float(functional.cross_entropy(logits.flatten(0, 1), due.flatten(), reduction="sum"))
            number += sum(len(ids[i]) - 1 for i in chosen)
    return round(math.exp(total / number), 1) if number else None


class _CausalSteps:
    """The network as a Stepper: it reads the prefixes at once, then one token of every beam."""

    def __init__(self, network: Causal, items: Sequence[Opening], width: int) -> None:
        self.network, self.width = network, width
        self.state: list[Any] = []
        self.prefixes = torch.tensor([item.prefix for item in items], device=device_of(network))

    def __call__(self, last: Tensor, step: int) -> Tensor:
        if step:
            return self.network.read(last[:, None], self.state)
        scores = self.network.read(self.prefixes, self.state)
        rows = torch.arange(len(self.prefixes), device=scores.device).repeat_interleave(self.width)
        self.network.select(rows, self.state)
        return scores[rows]

    def reorder(self, beams: Tensor) -> None:
        self.network.select(beams, self.state)


def write(
    network: Causal,
    items: Sequence[Opening],
    rules: SearchRules,
    width: int,
    threads: int = 1,
    progress: Progress | None = None,
) -> Iterator[tuple[int, Beams]]:
    """(index, `width` beams) of every opening. Sequences end with the end mark of `rules`, after `most` tokens."""
    assert rules.end is not None, "openings are written on up to an end mark"
    end, rules = rules.end, replace(rules, never=rules.never.to(device_of(network)))
    order = sorted(range(len(items)), key=lambda i: (len(items[i].prefix), items[i].most, i))
    groups = (list(group) for _, group in groupby(order, key=lambda i: len(items[i].prefix)))
    cuts = [batch for same in groups for batch in in_batches(same)]
    network.eval()

    def work(chosen: list[Opening]) -> list[tuple[Beams, float]]:
        rows = SearchRows(
            begin=[item.prefix[-1] for item in chosen],
            lengths=[item.most + 1 for item in chosen],
            forced=[(*[-1] * item.most, end) for item in chosen],
            least=[item.least for item in chosen],
        )
        steps = _CausalSteps(network, chosen, width)
        return [(beams, beams.margin) for beams in search(steps, rows, rules, width)]

    with scope(threads), torch.inference_mode():
        yield from settled(items, cuts, work, progress)


# ---- The method

NAME = "gpt2"
MARKS = ("[ASP]", "[BOS]")
_PATIENCE = 2


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
    place: Workplace
    name: str = NAME

    @property
    def signature(self) -> str:
        return sign_method(NAME, self.settings, f"model {self.digest[:16]}")

    def propose(self, sentences: Sequence[Sentence], copies: int, seed: int) -> Iterator[tuple[Rewrite, ...]]:
        """Nothing is drawn: `seed` changes nothing. A sentence of fewer than two tokens has no candidates."""
        inventory, end, place = self.inventory, self.special.end, self.place
        never = banned(inventory.size, [i for i in inventory.never if i != end])
        rules = SearchRules(never, end, own_marks(inventory))
        written = lambda items: write(self.network, items, rules, self.settings.beams, place.threads, place.progress)
        for found in candidates_by_plan(sentences, self._opened, written, self._candidates):
            yield tuple(chain.from_iterable(found))[:copies]

    def _opened(self, sentence: Sentence) -> Iterator[tuple[Cut, Opening]]:
        cut = self.inventory.cut(sentence.text, sentence.words)
        marks = kept(sentence)
        half = halved(cut, marks)
        left = len(cut) - half
        opening = Opening(
            (*prefix(cut, marks, self.special), *cut.ids[:half]), max(1, left // 2), left + max(4, left // 2)
        )
        if half and left > 0 and len(opening.prefix) + opening.most < self.network.longest:
            yield cut, opening

    def _candidates(self, sentence: Sentence, cut: Cut, opening: Opening, beams: Beams) -> Iterator[Rewrite]:
        half = halved(cut, kept(sentence))
        start, seen = cut.spans[half - 1][1], set[str]()
        for tokens, score in beams.sequences:
            if self.special.end not in tokens:
                continue
            new = self._text(sentence, cut, half, tokens[: tokens.index(self.special.end)])
            old = sentence.text[start:]
            if new and "\ufffd" not in new and new not in seen and new.split() != old.split():
                seen.add(new)
                marks = [mark for mark in kept(sentence) if mark.start >= start]
                yield Rewrite(sentence.id, around(sentence.text, start, new, marks), score)

    def _text(self, sentence: Sentence, cut: Cut, half: int, ids: tuple[int, ...]) -> str:
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
    """Edits that put `new` for text[start:] around the marks, if it has their words in order; else one edit."""
    edits, at, done = [], start, 0
    for mark in marks:
        place = new.find(text[mark.start : mark.end], done)
        if place < 0:
            return (Edit(start, len(text), new),)
        edits.append(Edit(at, mark.start, new[done:place]))
        at, done = mark.end, place + mark.end - mark.start
    edits.append(Edit(at, len(text), new[done:]))
    return tuple(edit for edit in edits if text[edit.start : edit.end] != edit.text)


def load(settings: Gpt2Settings, sentences: Sequence[Sentence], place: Workplace) -> Gpt2:
    """The method with its model: read, or trained and kept. ModelError where base or sentences do not serve."""
    network, inventory, special, base = _network(settings, sentences, place.seed)
    stories = [_story(sentence, inventory, special) for sentence in sentences]
    fitting = [n for n, story in enumerate(stories) if len(story.follows) > 1 and len(story) < network.longest]
    if not fitting:
        raise ModelError(f"no sentence to learn from (of {len(sentences)})", where=NAME, fix="give more training text")
    learnt, held = split_held_out([sentences[n].id for n in fitting], 0.05, place.seed)
    rate = 1e-3 if settings.base == "embedded" else 5e-5
    schedule = place.schedule(settings, settings.epochs, sentences, rate, _PATIENCE)
    data = [(sentence.id, story) for sentence, story in zip(sentences, stories, strict=True)]
    key = training_key(NAME, (describe_settings(settings, training=True), place.seed), data, base, __name__)
    items, checked = ([stories[fitting[n]] for n in part] for part in (learnt, held))
    measure: Measure[Continuation] = Measure(lambda chosen: loss(network, chosen), len, lambda item: len(item.follows))

    def train(run: TrainingRun) -> dict[str, float]:
        own = replace(run, seed=seed_of(run.seed, "causal"))
        return train_until_converged(network, items, checked, schedule, measure, own)

    digest = load_or_train(place, key, network, train)
    return Gpt2(settings, network.eval(), inventory, special, digest, place)


def _network(
    settings: Gpt2Settings, sentences: Sequence[Sentence], seed: int
) -> tuple[Causal, Inventory, Special, str]:
    if settings.base == "embedded":
        units = unit_inventory(sentences, False, settings.min_count)
        network = embedded(units.size, settings.width, settings.layers, seed)
        return network, units, Special(ASPECT, BOS, EOS), "embedded"
    base, inventory, digest = based(settings.base, MARKS, seed)
    ids = inventory.tokenizer.convert_tokens_to_ids(list(MARKS))
    end = inventory.tokenizer.eos_token_id
    if end is None:
        raise ModelError(
            "the tokenizer has no end mark", where=settings.base, fix="use a causal language model with one"
        )
    return base, inventory, Special(ids[0], ids[1], int(end)), digest


def _story(sentence: Sentence, inventory: Inventory, special: Special) -> Continuation:
    cut = inventory.cut(sentence.text, sentence.words)
    return Continuation(prefix(cut, kept(sentence), special), (*cut.ids, special.end))


make = trained(NAME, lambda own, given, place, corpus: load(own, given.sentences, place))
