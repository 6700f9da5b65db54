"""Models of transformers as bases of augmentation, and their tokens.

In: a hub name or a folder. Out: the network with an `Inventory` of its tokens. A token that reaches into a labelled
span is kept as a whole, so that no tokenizer can cut through a label.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from builder.core.errors import ModelError
from builder.core.records import Span
from builder.learning import hub
from builder.learning.pieces import Cut, Written, in_a_row

_HEADS = ("cls.predictions", "lm_head", "generator_")
"""Names in the weights of the heads of masked language models."""
_HAN = re.compile("[\u3000-\u303f\u3400-\u9fff\uf900-\ufaff\uff00-\uffef\U00020000-\U0003ffff]")
_SPACED_HAN = re.compile(f"(?<! ) +(?={_HAN.pattern})|(?<={_HAN.pattern}) +")


@dataclass(frozen=True, slots=True, eq=False)
class HubInventory:
    """The tokens of a fast tokenizer. `special` write nothing and are never generated."""

    tokenizer: Any
    size: int
    mask: int
    first: int
    pad: int
    special: tuple[int, ...]
    glued: tuple[bool, ...] = ()
    marks: tuple[int, ...] = ()

    @property
    def never(self) -> tuple[int, ...]:
        return self.special

    def cut(self, text: str, words: Sequence[Span]) -> Cut:
        """Tokens of one character at least; several of bytes count as their first, which is kept or replaced whole."""
        encoding = self.tokenizer(text, add_special_tokens=False, return_offsets_mapping=True)
        tokens = [
            (int(i), (start + _blank(text[start:end]), end))
            for i, (start, end) in zip(encoding.input_ids, encoding.offset_mapping, strict=True)
            if text[start:end].strip()
        ]
        return Cut(*(tuple(part) for part in zip(*_apart(tokens), strict=True))) if tokens else Cut((), ())

    def written(self, text: str, cut: Cut, new: Mapping[int, int]) -> tuple[Written, ...]:
        """Runs of replaced tokens, as the tokenizer decodes them behind the token before, which settles spaces."""
        return tuple(run for run in self._runs(text, cut, new) if text[run[0] : run[1]] != run[2])

    def _runs(self, text: str, cut: Cut, new: Mapping[int, int]) -> Iterator[Written]:
        for at, done in in_a_row(sorted(new)):
            ids = [new[i] for i in range(at, done + 1)]
            start, end = cut.spans[at][0], cut.spans[done][1]
            new_text = self.read(ids, cut.ids[at - 1] if at else None)
            # spaces before Han characters are marks of the text, no habit of the tokenizer
            if at and not _HAN.match(new_text):
                start = cut.spans[at - 1][1]
            yield start, end, new_text if at else new_text.lstrip()

    def read(self, ids: Sequence[int], before: int | None = None) -> str:
        """What tokens write behind another one. "" where they are no whole characters."""
        if before is None:
            return self._read(ids)
        left = self._read([before])
        both = self._read([before, *ids])
        return both[len(left) :] if both.startswith(left) else self._read(ids)

    def _read(self, ids: Sequence[int]) -> str:
        """WordPiece decoders put a space around every Han character."""
        text = str(self.tokenizer.backend_tokenizer.decoder.decode(self.tokenizer.convert_ids_to_tokens(list(ids))))
        return _SPACED_HAN.sub("", text)


def _blank(piece: str) -> int:
    """Spaces at the beginning, which some tokenizers count in."""
    return len(piece) - len(piece.lstrip())


def _apart(tokens: Sequence[tuple[int, Span]]) -> list[tuple[int, Span]]:
    """Without tokens that share a character with the one before."""
    out: list[tuple[int, Span]] = []
    for i, (start, end) in tokens:
        if out and start < out[-1][1][1]:
            out[-1] = out[-1][0], (out[-1][1][0], max(end, out[-1][1][1]))
        else:
            out.append((i, (start, end)))
    return out


def inventory(network: Any, tokenizer: Any, source: str, masks: bool = True) -> HubInventory:
    """The tokens of a model. Raises ModelError where the tokenizer is not a fast one, or has nothing to mask with."""
    if not getattr(tokenizer, "is_fast", False):
        raise ModelError(
            "the tokenizer has no offsets (it is no fast one)", where=source, fix="add the model's tokenizer.json"
        )
    mask = tokenizer.mask_token_id
    if mask is None:
        extra = tokenizer.convert_tokens_to_ids("<extra_id_0>")
        mask = extra if extra is not None and extra != tokenizer.unk_token_id else tokenizer.unk_token_id
    if mask is None and masks:
        raise ModelError("the tokenizer has no token to mask with", where=source, fix="use a model with a mask token")
    known = getattr(network.config, "decoder_start_token_id", None), tokenizer.bos_token_id, tokenizer.pad_token_id
    begin = next((i for i in known if i is not None), 0)
    size = int(network.get_input_embeddings().weight.shape[0])
    special = {*tokenizer.all_special_ids, *tokenizer.added_tokens_decoder, *range(len(tokenizer), size)}
    pad = int(tokenizer.pad_token_id or 0)
    never = tuple(sorted(i for i in special if i < size))
    return HubInventory(
        tokenizer, size, int(mask or 0), int(begin), pad, never, _glued(tokenizer, size), _marks(tokenizer, size)
    )


def _glued(tokenizer: Any, size: int) -> tuple[bool, ...]:
    """Whether a token goes on with the word before it, by the habits of WordPiece, byte-level BPE and sentencepiece."""
    tokens = tokenizer.convert_ids_to_tokens(list(range(min(size, len(tokenizer)))))
    if type(tokenizer.backend_tokenizer.decoder).__name__ == "WordPiece":
        flags = [str(token).startswith("##") for token in tokens]
    else:
        flags = [not str(token).startswith(("\u0120", "\u2581")) for token in tokens]
    return (*flags, *[False] * (size - len(flags)))


def _marks(tokenizer: Any, size: int) -> tuple[int, ...]:
    """Tokens without letter or digit; of byte-level ones beyond ASCII, parts of characters, none is known for one."""
    tokens = tokenizer.convert_ids_to_tokens(list(range(min(size, len(tokenizer)))))
    parts = type(tokenizer.backend_tokenizer.decoder).__name__ == "ByteLevel"
    bare = [str(token).strip("\u0120\u2581#") for token in tokens]
    return tuple(
        i
        for i, token in enumerate(bare)
        if not any(char.isalnum() for char in token) and (token.isascii() or not parts)
    )


def load(source: str, kind: str, new_head: bool = False) -> tuple[Any, HubInventory]:
    """A network with the `Inventory` of its tokens; `new_head`: the head of a masked one may be missing."""
    network, tokenizer = hub.load_model(source, kind, _HEADS if new_head else (), "augment")
    return network, inventory(network, tokenizer, source, kind != hub.CAUSAL)
