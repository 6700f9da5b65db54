"""Progress bars on stderr, silent where that is no terminal."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tqdm import tqdm

_HIDDEN = "BUILDER_NO_BARS"


def hide_bars() -> None:
    """Draw no progress bars from now on, here and in processes that this one starts."""
    os.environ[_HIDDEN] = "1"


def bar(total: int | None, note: str, unit: str = " reviews") -> tqdm[None]:
    """A progress bar on stderr, silent where that is no terminal or bars are hidden."""
    from tqdm import tqdm

    hidden = True if os.environ.get(_HIDDEN) else None
    shape = "  {desc}: {percentage:3.0f}% |{bar:20}| {remaining} left" if total is not None else None
    return tqdm(
        total=total, desc=note, unit=unit, disable=hidden, leave=False, dynamic_ncols=True, unit_scale=unit == "B",
        bar_format=shape,
    )  # fmt: skip


class ModelBar:
    """Shows a model's progress; gives the model package its `Progress` without handing it a terminal."""

    def __init__(self, note: str, unit: str = " chars") -> None:
        self._note = note
        self._bar = bar(0, note, unit=unit)

    def __call__(self, done: int, total: int, note: str) -> None:
        if self._bar.total != total or done < self._bar.n:
            self._bar.reset(total)
        self._bar.set_description(f"{self._note}: {note}", refresh=False)
        self._bar.update(done - self._bar.n)

    def close(self) -> None:
        self._bar.close()
