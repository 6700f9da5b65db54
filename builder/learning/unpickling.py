"""Run as a program of its own: tensors out of a pickle, into a safetensors file.

In: the paths of a pickle that torch wrote, and of the file to write. Out: that file; or one line on stderr and exit
code 1. torch reads tensors only (`weights_only`), and refuses whatever else a pickle asks for. Should that fail one
day, this process has no network, and can neither start another one nor write anywhere else: it is cut off before the
pickle is opened. Nothing of builder is imported, so that nothing of it can be reached either.
"""

from __future__ import annotations

import ctypes
import os
import sys
from typing import Any

_NEW_USER, _NEW_NETWORK = 0x10000000, 0x40000000
_REFUSED = ("socket.", "subprocess.", "os.system", "os.exec", "os.fork", "os.posix_spawn", "os.spawn", "ctypes.dlopen")
_CHANGING = (
    "os.remove", "os.rename", "os.rmdir", "os.mkdir", "os.link", "os.symlink", "os.truncate", "os.chmod", "os.chown",
    "os.utime", "os.setxattr", "shutil.",
)  # fmt: skip
_WRITING = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_APPEND


def leave_network() -> None:
    """Enter an empty network, where the system allows it; `cut_off` refuses sockets everywhere."""
    if sys.platform == "linux":
        system = ctypes.CDLL(None)
        if system.unshare(_NEW_NETWORK):
            system.unshare(_NEW_USER | _NEW_NETWORK)


def _writes(mode: object, flags: int) -> bool:
    """Whether a file is opened to be written: by its mode, or by the flags of `os.open`, which has none."""
    return not set(mode) <= {"r", "b", "t"} if isinstance(mode, str) else bool(flags & _WRITING)


def cut_off(target: str) -> None:
    """From here on this process opens no socket, starts no process, changes no file but `target`. Never undone."""
    allowed = os.path.abspath(target)

    def refuse(event: str, arguments: tuple[Any, ...]) -> None:
        written = event == "open" and _writes(arguments[1], arguments[2])
        elsewhere = written and os.path.abspath(os.fsdecode(arguments[0])) != allowed
        if event.startswith((*_REFUSED, *_CHANGING)) or elsewhere:
            raise PermissionError(f"reading weights asked for {event}")

    sys.addaudithook(refuse)


def main(source: str, target: str) -> int:
    """Copy the tensors of a pickle to a safetensors file, without network and with writing allowed in one folder alone.

    Args:
        source: the pickle (`pytorch_model.bin`).
        target: the file to write.

    Returns:
        The exit code: 0, or 1 with the reason on standard error.
    """
    leave_network()
    import safetensors.torch
    import torch

    torch.zeros(1).sum()  # loads what torch loads lazily
    cut_off(target)
    try:
        loaded = torch.load(source, map_location="cpu", weights_only=True)
    except Exception as error:
        print(
            f"torch refuses it: {(str(error).strip().splitlines() or [type(error).__name__])[0][:200]}", file=sys.stderr
        )
        return 1
    if isinstance(loaded, dict) and isinstance(loaded.get("state_dict"), dict):
        loaded = loaded["state_dict"]
    odd = not isinstance(loaded, dict) or [
        name
        for name, value in loaded.items()
        if not isinstance(name, str) or type(value) not in (torch.Tensor, torch.nn.Parameter)
    ]
    if odd or not loaded:
        what = f"{odd[0]!r} is no tensor" if isinstance(odd, list) and odd else "it holds no table of tensors"
        print(what, file=sys.stderr)
        return 1
    tensors: dict[str, Any] = {}
    seen: set[int] = set()
    for name, tensor in loaded.items():
        whole = tensor.detach().contiguous()
        tensors[name] = whole.clone() if whole.data_ptr() in seen else whole  # tied weights: each name has its tensor
        seen.add(tensors[name].data_ptr())
    with open(target, "wb") as file:
        file.write(safetensors.torch.save(tensors, {"format": "pt"}))
    return 0


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1], sys.argv[2]))
