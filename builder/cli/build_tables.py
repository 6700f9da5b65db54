"""Tables of stages, for `builder status` and `builder build --verbose`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence


def stage_table(rows: Sequence[Sequence[str]], headers: list[str]) -> str:
    """A row a stage. On a terminal the last column is wrapped to what is left of its width; a file or pipe gets a
    line a stage.
    """
    import shutil
    import sys

    from tabulate import tabulate

    width = None
    if sys.stdout.isatty():
        # tabulate gives a header two characters more than it has, and two stand between columns
        before = sum(
            2 + max(len(header) + 2, *map(len, cells)) for header, *cells in list(zip(headers, *rows, strict=True))[:-1]
        )
        width = max(20, shutil.get_terminal_size().columns - before)
    return str(
        tabulate(
            rows,
            headers=headers,
            maxcolwidths=[*[None] * (len(headers) - 1), width],
            disable_numparse=[len(headers) - 1],
        )
    )


_PLAIN = (
    "rows", "rejected", "duplicates", "reviews", "judged", "triplets", "POS", "NEG", "NEU", "version", "train", "valid",
    "test", "added by LLM", "dropped by LLM",
)  # fmt: skip
"""Counts that need no knowledge of the method."""


def plain_counts(counts: Mapping[str, object]) -> str:
    """What a stage counted, in words that its users know; nothing that is 0."""
    return counts_text({name: counts[name] for name in _PLAIN if counts.get(name)})


def counts_text(counts: Mapping[str, object]) -> str:
    """Counts of a stage in one line."""
    return ", ".join(
        f"{name} {value:,}" if isinstance(value, int) else f"{name} {value}" for name, value in counts.items()
    )
