"""Two small regressions that the lexicon itself calibrates: is a word of a kind (logistic), and how good is it (ridge).

In: feature rows. Out: weights. The words that the lexicon has are the examples, so that the scores of candidates are
probabilities on the user's own corpus and no threshold is guessed; no labelled review takes part.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

Matrix = npt.NDArray[np.float64]


def logistic(rows: Matrix, labels: Matrix, weights: Matrix, penalty: float = 1.0, steps: int = 30) -> Matrix:
    """Weights of a penalised, weighted logistic regression by Newton's method; the last weight is the bias."""
    x = _biased(rows)
    keep = np.diag([*[penalty] * rows.shape[1], 1e-6])
    coefficients = np.zeros(x.shape[1])
    for _ in range(steps):
        p = 1 / (1 + np.exp(-np.clip(x @ coefficients, -30, 30)))
        slope = x.T @ (weights * (labels - p)) - keep @ coefficients
        curve = (x * (weights * p * (1 - p))[:, None]).T @ x + keep
        step = np.linalg.solve(curve, slope)
        coefficients += step
        if float(np.abs(step).max()) < 1e-8:
            break
    return np.asarray(coefficients)


def probability(rows: Matrix, coefficients: Matrix) -> Matrix:
    """The probability of each row by the weights of `logistic`."""
    return np.asarray(1 / (1 + np.exp(-np.clip(_biased(rows) @ coefficients, -30, 30))))


def ridge(rows: Matrix, values: Matrix, weights: Matrix, penalty: float = 1.0) -> Matrix:
    """Weights of a penalised, weighted linear regression; the last weight is the bias."""
    x = _biased(rows)
    keep = np.diag([*[penalty] * rows.shape[1], 1e-6])
    return np.asarray(np.linalg.solve((x * weights[:, None]).T @ x + keep, x.T @ (weights * values)))


def linear(rows: Matrix, coefficients: Matrix) -> Matrix:
    """The value of each row by the weights of `ridge`."""
    return np.asarray(_biased(rows) @ coefficients)


def standard(rows: Matrix) -> tuple[Matrix, Matrix]:
    """Mean and spread of each column, the spread 1 where a column is constant."""
    spread = rows.std(axis=0)
    return np.asarray(rows.mean(axis=0)), np.where(spread > 1e-9, spread, 1.0)


def _biased(rows: Matrix) -> Matrix:
    return np.hstack([rows, np.ones((len(rows), 1))])
