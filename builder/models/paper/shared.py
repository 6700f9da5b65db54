"""A trained model lies on the disk once: in its folder, from which its training is read again, and other models that
are the same.

In: the folder of a finished training, and that of the model saved from it. Out: the weights in one of them only. Two
rounds of self-training with one training set (M_0 of A and C, of B and D) share a training: the second model's weights
are links to the first one's, and it takes over what the first has answered.
"""

from __future__ import annotations

import json
import os
import shutil
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from builder.core.files import Kept, refusals
from builder.learning.checkpoint import BEST

MANIFEST = "paper.json"


@dataclass(frozen=True, slots=True)
class SavedModel:
    """The folder of a model, and the digest it was saved with."""

    folder: Path
    digest: str

    @property
    def stands(self) -> bool:
        """Whether the folder still holds this model."""
        try:
            kept = json.loads((self.folder / MANIFEST).read_text("utf-8"))
        except (OSError, ValueError):
            return False
        return isinstance(kept, dict) and kept.get("digest") == self.digest


def saved_model(training: Path, fingerprint: str) -> SavedModel | None:
    """The model that a finished training was settled in, if it still stands."""
    done = Kept(training).find(fingerprint, slot="done")
    if not done or not done.get("model"):
        return None
    model = SavedModel(Path(os.path.normpath(training / done["model"])), done["digest"])
    return model if model.stands else None


def settle(training: Path, folder: Path, digest: str) -> None:
    """Let the weights of a finished training lie in `folder`, where its model was saved, and nowhere else."""
    kept = Kept(training)
    if not (fingerprint := kept.key_in("done")):
        return
    first, here = saved_model(training, fingerprint), folder.resolve()
    if first is not None and first.folder.resolve() != here and first.digest == digest:
        _share(first.folder, folder)
        return
    done = kept.find(fingerprint, slot="done") or {}
    kept.put(fingerprint, {**done, "model": os.path.relpath(folder, training), "digest": digest}, slot="done")
    with refusals(training):
        (training / BEST).unlink(missing_ok=True)


def _share(first: Path, folder: Path) -> None:
    """Links to the weights of the first folder in place of equal ones; its answers as well."""
    with refusals(folder):
        for path in first.glob("*.safetensors"):
            draft = folder / f".{path.name}.link"
            draft.unlink(missing_ok=True)
            with suppress(OSError):  # a file system without links keeps the second copy
                os.link(path, draft)
                os.replace(draft, folder / path.name)
        for path in first.glob("answers-*.jsonl"):
            shutil.copyfile(path, folder / path.name)
