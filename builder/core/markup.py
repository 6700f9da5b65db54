"""A review's text as HTML with its triplets marked: parts may overlap and lie apart. Pure; everything that comes from
data is escaped.

In: a text and the spans of its triplets' elements. Out: HTML for the pages of `builder serve` and for notebooks. Each
stretch of text between two borders of spans becomes nested <span>s, one for each element that covers it, so that
every element draws its own line below (lanes keep them apart). `shared.css` holds the colours and rules of all pages.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.resources import files

LANES = 6
HIDDEN = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028\u2029\u202a-\u202e\u2066-\u2069]")
"""Characters that would reorder or hide what a reader sees: shown by their number instead."""
_ENTITIES = str.maketrans({"&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&#34;", "'": "&#39;"})

_BOX = ".builder-triplets"
_RULES = f"""{_BOX} {{ font: 15px/1.5 system-ui, "Noto Sans TC", "PingFang TC", "Microsoft JhengHei", sans-serif; }}
{_BOX} .POS {{ --c: var(--pos); --cb: var(--pos-bg); }} {_BOX} .NEG {{ --c: var(--neg); --cb: var(--neg-bg); }}
{_BOX} .NEU {{ --c: var(--neu); --cb: var(--neu-bg); }}
{_BOX} .text {{ margin: .2em 0; line-height: 2.5; white-space: pre-wrap; overflow-wrap: anywhere; \
unicode-bidi: isolate; }}
{_BOX} .m {{ text-decoration: underline solid var(--c) 3px; text-decoration-skip-ink: none; border-radius: 3px; }}
{_BOX} .m.aspect {{ background: var(--aspect-bg); }} {_BOX} .m.opinion {{ background: var(--cb); color: var(--c); \
font-weight: 600; }}
{_BOX} .m .m {{ background: none; }}
{" ".join(f"{_BOX} .l{lane} {{ text-underline-offset: {5 + 4 * lane}px; }}" for lane in range(LANES))}
{_BOX} sup {{ font-size: .65em; opacity: .75; margin: 0 .1em; }} {_BOX} .gap {{ opacity: .5; }}
{_BOX} ol {{ margin: .2em 0 .2em 1.6em; padding: 0; }} {_BOX} li {{ margin: .1em 0; }}
{_BOX} .tag {{ color: var(--c); background: var(--cb); border-radius: 5px; padding: .05em .4em; font-size: .8em; \
font-weight: 650; }}
{_BOX} .hidden-char {{ font: .7rem/1 ui-monospace, monospace; opacity: .7; }}"""


@cache
def shared_rules() -> str:
    """The style sheet that all pages share."""
    return (files("builder.core") / "shared.css").read_text(encoding="utf-8")


@cache
def _notebook_style() -> str:
    """The rules of a fragment, in the colours of the shared sheet: what stands in it before the rules of `body`."""
    colours = shared_rules().partition("\nbody {")[0].replace(":root", _BOX)
    return f"<style>\n{colours}\n{_RULES}\n</style>"


@dataclass(frozen=True, slots=True)
class SpanMark:
    """An element of triplet number `triplet` on the page. `shade`: a class more, for how sure the triplet is."""

    triplet: int
    role: str
    polarity: str
    spans: tuple[tuple[int, int], ...]
    shade: str = ""

    def covers(self, start: int, end: int) -> bool:
        """Whether the stretch lies inside one of the spans."""
        return any(a <= start and end <= b for a, b in self.spans)


def escape(text: str) -> str:
    """`text` as HTML text or as an attribute's value."""
    return text.translate(_ENTITIES)


def visible(text: str) -> str:
    """Text, not yet escaped, whose control and direction characters stand as their numbers."""
    return HIDDEN.sub(lambda match: f"U+{ord(match[0]):04X}", text)


def plain(text: str) -> str:
    """Escaped text whose control and direction characters are named instead of obeyed."""
    parts, at = [], 0
    for match in HIDDEN.finditer(text):
        parts += [escape(text[at : match.start()]), f'<span class="hidden-char">U+{ord(match[0]):04X}</span>']
        at = match.end()
    return "".join([*parts, escape(text[at:])])


def marked(text: str, shown: Sequence[SpanMark], *, stops: bool = False, numbers: bool = False) -> str:
    """`text` with `shown` marked. Elements whose spans are no part of the text are ignored.

    `stops`: the first part of each opinion takes the keyboard's focus. `numbers`: the last part of each element bears
    the number of its triplet, from 1.
    """
    borders = sorted(
        {0, len(text), *(edge for mark in shown for span in mark.spans for edge in span if 0 <= edge <= len(text))}
    )
    lane = lanes(shown)
    focused: set[int] = set()
    parts = []
    for start, end in itertools.pairwise(borders):
        part = plain(text[start:end])
        for mark in [mark for mark in shown if mark.covers(start, end)]:
            stop = ""
            if stops and mark.role == "opinion" and mark.triplet not in focused:
                focused.add(mark.triplet)
                stop = f' tabindex="0" aria-describedby="t{mark.triplet}"'
            classes = f"m {mark.role} {mark.polarity} l{lane[mark]} {mark.shade}".rstrip()
            part = f'<span class="{classes}" data-t="{mark.triplet}"{stop}>{part}</span>'
        ending = [mark.triplet + 1 for mark in shown if numbers and mark.spans[-1][1] == end]
        parts.append(part + (f"<sup>{' '.join(map(str, sorted(set(ending))))}</sup>" if ending else ""))
    return "".join(parts)


def lanes(shown: Sequence[SpanMark]) -> dict[SpanMark, int]:
    """The lane of each mark: the lowest that no mark over the same characters has; the last one where all are taken."""
    out: dict[SpanMark, int] = {}
    for mark in sorted(shown, key=lambda mark: (mark.spans[0][0], -mark.spans[-1][1])):
        taken = {
            out[other]
            for other in out
            if other.spans[0][0] < mark.spans[-1][1] and mark.spans[0][0] < other.spans[-1][1]
        }
        out[mark] = next((lane for lane in range(LANES) if lane not in taken), LANES - 1)
    return out


def element(role: str, polarity: str, surfaces: Iterable[str]) -> str:
    """An element outside of its text: its parts in order, a gap shown between those that lie apart."""
    inner = '<span class="gap">…</span>'.join(map(plain, surfaces))
    return f'<span class="m {role} {polarity} l0">{inner}</span>'


def tag(polarity: str) -> str:
    """The polarity as a small label in its colour."""
    return f'<span class="tag {polarity}">{polarity}</span>'


def boxed(content: str) -> str:
    """A fragment for a notebook, with the style that it needs."""
    return f'<div class="builder-triplets">{_notebook_style()}{content}</div>'
