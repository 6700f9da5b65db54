"""A model's folder whose weights are pickles, as one with safetensors.

In: a folder with pytorch_model.bin, or with shards and their index. Out: a new folder with the same weights, config
and tokenizer, and a README.md that names every file with its digest. The pickles are read by
builder.learning.unpickling, a process without network; code in the folder stays behind.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

from builder.core.errors import ModelError, OutputError
from builder.core.files import digest_file, refusals, sync
from builder.learning import unpickling
from builder.learning.hub import pickles_in

_INDEX = "pytorch_model.bin.index.json"
_KEPT = ("*.json", "*.txt", "*.model", "*.tiktoken", "LICENSE*", "NOTICE*", "README.md")


@dataclass(frozen=True, slots=True)
class ConvertedFile:
    """A pickle and the safetensors file made of it, with their sha256."""

    source: str
    source_digest: str
    target: str
    target_digest: str


def convert(folder: Path, out: Path) -> tuple[ConvertedFile, ...]:
    """Write the model of `folder` to `out` with safetensors. ModelError says what cannot be read."""
    names = _weights_of(folder)
    if out.exists():
        raise OutputError("there is something already", where=str(out), fix="name a new folder with --out")
    with refusals(out):
        out.parent.mkdir(parents=True, exist_ok=True)
        draft = Path(tempfile.mkdtemp(prefix=f".{out.name}.", suffix=".building", dir=out.parent))
    try:
        for path in sorted({path for pattern in _KEPT for path in folder.glob(pattern)}):
            if path.name != _INDEX:
                shutil.copyfile(path, draft / path.name)
        files = tuple(_convert_file(folder / name, draft / target) for name, target in names.items())
        if (folder / _INDEX).is_file():
            _write_index(folder / _INDEX, draft / "model.safetensors.index.json", names)
        _write_card(draft / "README.md", files)
        draft.chmod(0o755)
        sync(draft)
        with refusals(out):
            draft.rename(out)
    except BaseException:
        shutil.rmtree(draft, ignore_errors=True)
        raise
    return files


def _weights_of(folder: Path) -> dict[str, str]:
    """The folder's pickles, and what each is called as safetensors."""
    if not (folder / "config.json").is_file():
        raise ModelError("no model here: there is no config.json", where=str(folder), fix="name a model's folder")
    if any(folder.glob("*.safetensors")):
        raise ModelError("its weights are safetensors already", where=str(folder), fix="use the folder as it is")
    index = folder / _INDEX
    if index.is_file():
        try:
            shards = sorted({str(name) for name in json.loads(index.read_text("utf-8"))["weight_map"].values()})
        except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
            raise ModelError(f"no readable index: {error!r}", where=str(index), fix="fetch the model again") from error
        missing = [name for name in shards if Path(name).name != name or not (folder / name).is_file()]
        if missing or not shards:
            what = f"the index names {missing[0]!r}, which is not in the folder" if missing else "the index is empty"
            raise ModelError(what, where=str(index), fix="fetch the model again")
        return {name: f"model-{n:05d}-of-{len(shards):05d}.safetensors" for n, name in enumerate(shards, 1)}
    names = pickles_in(folder)
    known = [name for name in names if name == "pytorch_model.bin"] or names
    if len(known) != 1:
        what = f"{len(known)} files might hold the weights: {', '.join(known)}" if known else "there are no weights"
        raise ModelError(what, where=str(folder), fix="keep one file of weights in it, such as pytorch_model.bin")
    return {known[0]: "model.safetensors"}


def _convert_file(source: Path, target: Path) -> ConvertedFile:
    """One pickle, read by a process of its own, without the settings and secrets of this one."""
    kept = ("PATH", "LD_LIBRARY_PATH", "PYTHONPATH", "SYSTEMROOT", "TMPDIR", "OMP_NUM_THREADS")
    done = subprocess.run(
        [sys.executable, "-P", unpickling.__file__, str(source.resolve()), str(target)],
        env={key: os.environ[key] for key in kept if key in os.environ},
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode:
        last = (done.stderr.strip().splitlines() or [f"exit code {done.returncode}, for want of memory perhaps"])[-1]
        raise ModelError(f"no weights could be read: {last[:300]}", where=str(source), fix="use another copy of it")
    return ConvertedFile(source.name, digest_file(source), target.name, digest_file(target))


def _write_index(source: Path, target: Path, names: dict[str, str]) -> None:
    index = json.loads(source.read_text("utf-8"))
    index["weight_map"] = {tensor: names[str(shard)] for tensor, shard in index["weight_map"].items()}
    target.write_text(json.dumps(index, indent=2, sort_keys=True) + "\n", encoding="utf-8")


def _write_card(card: Path, files: tuple[ConvertedFile, ...]) -> None:
    """The model's own card, if it has one, and what was made of what."""
    own = card.read_text("utf-8", errors="replace").rstrip() + "\n\n" if card.is_file() else ""
    rows = [f"| {f.source} | `{f.source_digest}` | {f.target} | `{f.target_digest}` |" for f in files]
    table = "\n".join(["| From | sha256 | To | sha256 |", "| --- | --- | --- | --- |", *rows])
    about = "The weights were copied from pickles to safetensors by `builder model convert`; no value was changed."
    card.write_text(f"{own}## Conversion\n\n{about}\n\n{table}\n", encoding="utf-8")
