"""Feature space shift (Yang and Li 2022, section 4.3 and appendix A): where sets lie in the features of a model
trained on the source.

In: feature vectors by set, the test set among them. Out: t-SNE places of all sets in one plane, the overlap of each
set's convex hull with that of the test set (equation 4), and its skewness (equations 5 to 7). The larger the overlap
and the smaller the skewness, the milder the shift.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from builder.core.errors import ConfigError, InputError, install_command

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

FEWEST = 5
PERPLEXITY = 30
Point = tuple[float, float]


@dataclass(frozen=True, slots=True)
class ShiftPoint:
    """A set in the plane. `overlap` in 0 to 1, with the test set; `skew` on the two axes, `skewness` the sum of their
    absolute values.
    """

    name: str
    points: tuple[Point, ...]
    hull: tuple[Point, ...]
    overlap: float
    skew: tuple[float, float]

    @property
    def skewness(self) -> float:
        return abs(self.skew[0]) + abs(self.skew[1])


@dataclass(frozen=True, slots=True)
class Shift:
    """All sets in one plane; `seed` that of the t-SNE."""

    model: str
    test: ShiftPoint
    sets: tuple[ShiftPoint, ...]
    seed: int


def analyse(model: str, test: str, features: Mapping[str, NDArray[np.float32]], seed: int) -> Shift:
    """Place the sets. InputError for a set of fewer than five rows: it has no hull worth comparing."""
    for name, feature in features.items():
        if len(feature) < FEWEST:
            raise InputError(f"{len(feature)} rows are too few for a hull", where=name, fix=f"take {FEWEST} at least")
    planes = embed(features, seed)
    hulls = {name: hull(points) for name, points in planes.items()}
    sets = {
        name: ShiftPoint(
            name, points, corners(hulls[name]), overlap(hulls[name], hulls[test]), (skew(points, 0), skew(points, 1))
        )
        for name, points in planes.items()
    }
    return Shift(model, sets[test], tuple(kept_set for name, kept_set in sets.items() if name != test), seed)


def embed(features: Mapping[str, NDArray[np.float32]], seed: int) -> dict[str, tuple[Point, ...]]:
    """t-SNE of all sets at once, so that their places can be compared; it starts from the principal components."""
    try:
        from sklearn.manifold import TSNE
        from threadpoolctl import threadpool_limits
    except ModuleNotFoundError as error:
        raise ConfigError(f"the shift analysis needs {error.name}", fix=install_command("bench")) from error
    import numpy as np

    whole = np.concatenate(list(features.values())).astype(np.float64)
    if not np.isfinite(whole).all():
        raise InputError("the model's features are no numbers", where="--shift", fix="lower --rate")
    perplexity = min(PERPLEXITY, (len(whole) - 1) / 3)
    with threadpool_limits(1):  # the sum of several threads depends on their order
        placed = TSNE(2, perplexity=perplexity, init="pca", random_state=seed, n_jobs=1).fit_transform(whole)
    out, at = {}, 0
    for name, feature in features.items():
        out[name] = tuple((float(x), float(y)) for x, y in placed[at : at + len(feature)])
        at += len(feature)
    return out


def hull(points: Sequence[Point]) -> Any:
    """The convex hull as a shapely geometry."""
    try:
        from shapely import MultiPoint
    except ModuleNotFoundError as error:
        raise ConfigError(f"the shift analysis needs {error.name}", fix=install_command("bench")) from error
    return MultiPoint(list(points)).convex_hull


def corners(shape: Any) -> tuple[Point, ...]:
    """The corners of a hull, the first not repeated; of a line or a point what there is."""
    corners = list(shape.exterior.coords)[:-1] if shape.geom_type == "Polygon" else list(shape.coords)
    return tuple((float(x), float(y)) for x, y in corners)


def overlap(first: Any, second: Any) -> float:
    """Equation 4: the area of the intersection over that of the union."""
    union = first.union(second).area
    return float(first.intersection(second).area / union) if union else 0.0


def skew(points: Sequence[Point], axis: int) -> float:
    """Equations 5 and 6: m3 / m2 ** 1.5 on an axis; 0 where all points are one."""
    values = [point[axis] for point in points]
    mean = sum(values) / len(values)
    second, third = (sum((value - mean) ** n for value in values) / len(values) for n in (2, 3))
    return float(third / second**1.5) if second > 0 else 0.0
