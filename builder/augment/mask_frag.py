"""MaskFrag of masked sequence-to-sequence augmentation (Li et al. 2020, section 3.2.1), and which sentences and
starts are drawn.

In: tokens with their labels (0 is O), a start and a proportion. Out: the tokens with the fragment's O tokens masked,
and the fragment. The paper counts from 1 and its ends are inclusive: positions u to v = u + r * n are the fragment, m
= v - u + 1 tokens. Here ranges count from 0 and are half-open, so that fragment [u, u + floor(r * n) + 1) is the
paper's.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from random import Random
from typing import TypeVar

from builder.core.records import Span

Token = TypeVar("Token")
SHORT = 5
"""Sentences of so many tokens or fewer are not trained on (equation 1)."""


def weight(length: int) -> float:
    """Equation 1: what the probability that a sentence of `length` tokens is drawn for training is proportional to."""
    return math.sqrt(length) if length > SHORT else 0.0


def starts(length: int, r: float) -> range:
    """The starts that may be drawn (algorithm 1, line 5): in the paper's count 1 to (1 - r) * n; one at least."""
    return range(max(1, math.floor((1 - r) * length + 1e-9)))


def fragment(length: int, u: int, r: float) -> Span:
    """The fragment that begins at `u`."""
    return u, min(length, u + math.floor(r * length + 1e-9) + 1)


def mask_frag(tokens: Sequence[Token], kept: Sequence[object], span: Span, mask: Token) -> tuple[Token, ...]:
    """X with `mask` in place of the tokens of the fragment that are not kept: in the paper those whose label is not
    O. The target is all of tokens[fragment].
    """
    return tuple(
        mask if span[0] <= i < span[1] and not held else token
        for i, (token, held) in enumerate(zip(tokens, kept, strict=True))
    )


def widened(span: Span, edges: Sequence[bool]) -> Span:
    """The fragment with the rest of the words at its ends; `edges[i]`: whether a word begins at token i (or nothing
    follows).
    """
    first, end = span
    while first and not edges[first]:
        first -= 1
    while end < len(edges) - 1 and not edges[end]:
        end += 1
    return first, end


def chosen_fragments(
    kept: Sequence[object], r: float, copies: int, draw: Random, edges: Sequence[bool] = (), least: int = 1
) -> tuple[Span, ...]:
    """Up to `copies` fragments, spread over the sentence, of which every two mask different tokens (section 3.2.2:
    "we manually choose u"); of whole words, where `edges` tells them, and of `least` masked tokens.

    None where every token is kept.
    """
    by_masked: dict[tuple[int, ...], Span] = {}
    for u in starts(len(kept), r):
        span = fragment(len(kept), u, r)
        first, end = widened(span, edges) if edges else span
        if len(masked := tuple(i for i in range(first, end) if not kept[i])) >= least:
            by_masked.setdefault(masked, (first, end))
    fragments = sorted(by_masked.values())
    if len(fragments) <= copies:
        return tuple(fragments)
    step = len(fragments) / copies
    offset = draw.random() * step
    return tuple(fragments[min(len(fragments) - 1, int(offset + i * step))] for i in range(copies))
