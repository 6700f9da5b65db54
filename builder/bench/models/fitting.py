"""The way in: a chosen model, items, a seed; out comes a predictor. torch is loaded here, when asked for, and nowhere
above.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from builder.bench.models.task import Choice, ClassifierConfig, ClassifierItem, Means, Predictor, Task, check
from builder.errors import ModelError, install_command
from builder.learning.task import Progress


def fit(
    choice: Choice,
    task: Task,
    train: Sequence[ClassifierItem],
    valid: Sequence[ClassifierItem],
    seed: int,
    checkpoints: Path,
    means: Means | None = None,
    config: ClassifierConfig | None = None,
    progress: Progress | None = None,
) -> Predictor:
    """Train a model; the epoch that is best on `valid` (accuracy; exact span F1) wins, the last one where `valid` is
    empty.

    Raises ModelError where there is nothing to learn: no item, one class, no span; or where the loss is no number any
    more.
    """
    check(task, train)
    try:
        from builder.bench.models.learn import learn
    except ModuleNotFoundError as error:
        raise ModelError(f"{choice.name} needs {error.name}", fix=install_command("paper")) from error
    return learn(
        choice,
        task,
        train,
        valid,
        seed,
        checkpoints,
        means or Means(base=choice.base),
        config or choice.config,
        progress,
    )
