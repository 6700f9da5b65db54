"""The people who may sign in to the annotation page over a network, each with a password of their own.

In: a name and a password. Out: `annotators.json` in the working directory, readable by its owner alone: a salt and a
hash (scrypt) for each name, never a password. It lies beside the database, so that the database can be handed on.
"""

from __future__ import annotations

import hashlib
import hmac
import json
import secrets
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from builder.core.errors import ConfigError, InputError
from builder.core.files import write_atomically

NAME = "annotators.json"
SHORTEST = 8
_COST, _BLOCK, _LANES = 1 << 14, 8, 1
"""scrypt's N, r and p: 16 MB and some 50 ms for a try."""


@dataclass(frozen=True, slots=True)
class Passwords:
    """Who may sign in: name -> (salt, hash)."""

    hashes: Mapping[str, tuple[bytes, bytes]]

    def fits(self, name: str, password: str) -> bool:
        """Whether it is the password of `name`. An unknown name takes as long as a known one."""
        salt, due = self.hashes.get(name, (b"", b""))
        return hmac.compare_digest(_hash(password, salt), due)


def read_passwords(workdir: Path) -> Passwords:
    """The passwords of a working directory; none where nobody has one. InputError where the file is broken."""
    path = workdir / NAME
    if not path.is_file():
        return Passwords({})
    try:
        rows = json.loads(path.read_text(encoding="utf-8"))
        return Passwords({name: (bytes.fromhex(salt), bytes.fromhex(due)) for name, (salt, due) in rows.items()})
    except (ValueError, AttributeError, TypeError) as error:
        raise InputError(
            f"it is broken ({error})", where=str(path), fix="delete it, then set the passwords again"
        ) from error


def set_password(workdir: Path, name: str, password: str) -> None:
    """Give `name` a password, in place of an earlier one. ConfigError for one that is too short."""
    if len(password) < SHORTEST:
        raise ConfigError(f"the password has fewer than {SHORTEST} characters", fix="choose a longer one")
    salt = secrets.token_bytes(16)
    _write(workdir, {**read_passwords(workdir).hashes, name: (salt, _hash(password, salt))})


def remove_password(workdir: Path, name: str) -> None:
    """Let `name` sign in no more; the labels stay. ConfigError for a name without a password."""
    kept = dict(read_passwords(workdir).hashes)
    if kept.pop(name, None) is None:
        raise ConfigError(f"{name!r} has no password", fix="known: " + (", ".join(sorted(kept)) or "nobody"))
    _write(workdir, kept)


def _write(workdir: Path, hashes: Mapping[str, tuple[bytes, bytes]]) -> None:
    path = workdir / NAME
    rows = {name: (salt.hex(), due.hex()) for name, (salt, due) in sorted(hashes.items())}
    path.touch(mode=0o600)
    write_atomically(path, (json.dumps(rows, ensure_ascii=False, indent=1) + "\n").encode())
    path.chmod(0o600)


def _hash(password: str, salt: bytes) -> bytes:
    return hashlib.scrypt(password.encode(), salt=salt, n=_COST, r=_BLOCK, p=_LANES)
