"""From a chosen model, items and a seed to a predictor. torch is loaded here, on the first call, and nowhere above."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from builder.augment.bench.models.classifier_items import (
    Choice,
    ClassifierConfig,
    ClassifierItem,
    Means,
    Predictor,
    Task,
    check,
)
from builder.core.errors import ModelError, install_command


def fit(
    choice: Choice,
    task: Task,
    train: Sequence[ClassifierItem],
    valid: Sequence[ClassifierItem],
    seed: int,
    checkpoints: Path,
    means: Means | None = None,
    config: ClassifierConfig | None = None,
) -> Predictor:
    """Train a model. The epoch with the best accuracy, or exact span F1, on `valid` wins; without `valid` the last.

    Raises:
        ModelError: there is nothing to learn (no item, one class, no span), or the loss is no number any more.
    """
    check(task, train)
    try:
        from builder.augment.bench.models.learn import learn
    except ModuleNotFoundError as error:
        raise ModelError(f"{choice.name} needs {error.name}", fix=install_command("paper")) from error
    means = means or Means(base=choice.base)
    return learn(choice, task, train, valid, seed, checkpoints, means, config or choice.config)
