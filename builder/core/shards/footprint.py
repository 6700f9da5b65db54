"""The most memory that this process held, stage by stage, from what the kernel counts (Linux; elsewhere nobody
knows).
"""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path

_SELF = Path("/proc/self")


def begin() -> None:
    """Count from here on. Where the kernel does not let us, the most since the process began counts."""
    with suppress(OSError):
        (_SELF / "clear_refs").write_text("5", encoding="ascii")


def peak() -> int | None:
    """The most bytes resident since `begin`."""
    try:
        status = (_SELF / "status").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return None
    line = next((line for line in status.splitlines() if line.startswith("VmHWM:")), None)
    return int(line.split()[1]) * 1024 if line else None
