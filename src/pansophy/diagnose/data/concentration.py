"""The curse of dimensionality: distance concentration and sparse coverage.

With all pair distances of n rows, and radii |x - mean|,

    ratio = max / min -> 1,    gap = max - min ~ constant,                       (1)
    contrast = sd / mean of the distances ~ 1 / sqrt(2 D),                       (2)
    radius of a standard normal ~ sqrt(d) with spread 1 / sqrt(2).               (3)

D in (2) is the number of independent directions that would concentrate as much as the
rows do, often far below the number of columns. Of columns with k_j levels each, the
coverage (4) is the share of the prod_j k_j possible rows that occur (2^d for d yes/no
columns).

Cost      n^2 d in blocks over at most `rows` rows
Refs      [Beyer1999]
"""

from typing import NamedTuple

import numpy as np

from ...core.loops.threads import single_blas
from ...core.random import make_rng
from ...tables import TableError
from .columns import TableView, numeric_matrix, sample_rows, table_view

CURSED = 0.1  # contrast below which nearest rows are hardly nearer than any


class Concentration(NamedTuple):
    """Statistics of the distances between rows, eqs. (1) to (4)."""

    rows: int
    dimension: int
    min: float
    mean: float
    max: float
    ratio: float  # max / min
    gap: float  # max - min
    contrast: float
    directions: float  # D of eq. (2)
    radius: float  # mean distance to the centre
    radius_sd: float
    coverage: float | None  # share of possible rows seen; None without levels
    nearest: float  # mean distance to the nearest row / mean distance

    def __str__(self):
        text = (
            f"{self.dimension} columns: distances {self.min:.4g} to {self.max:.4g}, "
            f"mean {self.mean:.4g}; max/min {self.ratio:.3g}, max-min {self.gap:.3g}; "
            f"they spread as in {self.directions:.3g} independent directions. The "
            f"nearest row is at {self.nearest:.0%} of the mean distance."
        )
        if self.contrast < CURSED:
            text += " All rows are about equally far: methods by distance will suffer."
        if self.coverage is not None:
            text += (
                f" {self.coverage:.3g} of the possible combinations of levels occur."
            )
        return text


def distance_concentration(X, *, rows=1000, random_state=0) -> Concentration:
    """Measure how much the distances between rows concentrate.

    Parameters
    ----------
    X : array, dataframe, Arrow table or path
        Arrays of numbers are taken as they are, tables are brought to like scale.
    rows : int or None
        Rows drawn at random.
    random_state : seed

    Examples
    --------
    >>> import numpy as np
    >>> from pansophy.diagnose import distance_concentration
    >>> rng = np.random.default_rng(0)
    >>> flat = distance_concentration(rng.random((500, 2)))
    >>> high = distance_concentration(rng.random((500, 500)))
    >>> round(flat.contrast, 2), round(high.contrast, 2)
    (0.48, 0.03)
    """
    covered = None
    if isinstance(X, np.ndarray) and X.dtype.kind in "fiub":
        M = np.asarray(X, float)
        if M.ndim != 2 or len(M) < 2:
            raise ValueError(f"X must have rows and columns, got shape {M.shape}.")
        if not np.isfinite(M).all():
            raise ValueError("X contains NaN or infinity.")
        if np.all((M == 0) | (M == 1)):
            covered = len(np.unique(M, axis=0)) / 2.0 ** M.shape[1]
    else:
        view = table_view(X)
        if view.n < 2:
            raise TableError("Distances need at least two rows.")
        covered = _level_coverage(view)
        M = numeric_matrix(view)[0]
    sample = sample_rows(len(M), rows, random_state)
    M = M if sample is None else M[sample]
    with single_blas():
        return _concentration_by_block(M, covered)


def _level_coverage(view: TableView) -> float | None:
    """Share of the possible combinations of levels that occur, eq. (4)."""
    coded = [c for c in view.columns if c.categorical or c.kind == "yes/no"]
    coded = [c.labelled() for c in coded]
    coded = [z for z in coded if 1 < z.max(initial=0) + 1 <= 50]
    if not coded:
        return None
    possible = float(np.prod([float(z.max() + 1) for z in coded]))
    known = np.column_stack(coded)
    known = known[(known >= 0).all(1)]
    return len(np.unique(known, axis=0)) / possible


def _concentration_by_block(M, covered=None) -> Concentration:
    """Distance statistics of a matrix, eqs. (1) to (3), in blocks of rows."""
    from ...distances import pairwise

    n, d = M.shape
    if d == 0:
        M = np.zeros((n, 1))
        d = 0
    low = np.inf
    high = 0.0
    total = 0.0
    squares = 0.0
    near = np.full(n, np.inf)
    for start in range(0, n, 512):
        D = pairwise(M[start : start + 512], M)
        local_rows = np.arange(len(D))
        D[local_rows, start + local_rows] = np.nan
        low, high = min(low, float(np.nanmin(D))), max(high, float(np.nanmax(D)))
        total += float(np.nansum(D))
        squares += float(np.nansum(D * D))
        near[start : start + 512] = np.nanmin(D, axis=1)
    pairs = n * (n - 1)
    mean = total / pairs
    sd = np.sqrt(max(squares / pairs - mean**2, 0.0))
    contrast = sd / mean if mean > 0 else 0.0
    r = np.sqrt(((M - M.mean(0)) ** 2).sum(1))
    ratio = high / low if low > 0 else np.inf
    D = 1 / (2 * contrast**2) if contrast > 0 else np.inf
    nearest = float(near.mean() / mean) if mean > 0 else 0.0
    numbers = (low, mean, high, ratio, high - low, contrast, D, r.mean(), r.std())
    plain = [float(v) for v in numbers]
    return Concentration._make((n, d, *plain, covered, nearest))


def concentration_path(
    dimensions=(2, 10, 100, 1000), *, n=1000, law="uniform", random_state=0
) -> list[Concentration]:
    """`distance_concentration` of n random rows in cubes, or normal clouds, of growing
    dimension.

    Examples
    --------
    >>> from pansophy.diagnose import concentration_path
    >>> [round(c.ratio, 1) for c in concentration_path((100, 1000), n=200)]
    [1.6, 1.2]
    """
    if law not in ("uniform", "normal"):
        raise ValueError(f"law must be 'uniform' or 'normal', got {law!r}.")
    rng = make_rng(random_state)
    draw = rng.random if law == "uniform" else rng.standard_normal
    with single_blas():
        return [_concentration_by_block(draw((n, int(d)))) for d in dimensions]
