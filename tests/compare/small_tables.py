"""Small tables that tests of comparisons share."""

import numpy as np
import pyarrow as pa

from pansophy.compare.execution.blend_trial import MIN_BLEND_ROWS


def table_of_numbers(n=MIN_BLEND_ROWS, seed=0):
    """A number that is partly a step of two columns."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 3))
    y = X[:, 0] + 2 * (X[:, 1] > 0) * (X[:, 2] > 0) + 0.3 * rng.normal(size=n)
    return {"x0": X[:, 0], "x1": X[:, 1], "x2": X[:, 2], "y": y}


def table_with_gaps(n=90):
    """Two classes, a number that is missing in places, and a category."""
    rng = np.random.default_rng(1)
    x = rng.normal(size=n)
    x[::9] = np.nan
    kind = rng.choice(["u", "v", "w"], n)
    y = np.where(np.nan_to_num(x) + (kind == "u") + rng.normal(size=n) > 0.3, "a", "b")
    return pa.table({"x": x, "kind": kind, "y": y})


def table_of_noise(n=60, columns=3, seed=0):
    """Classes that nothing tells apart."""
    rng = np.random.default_rng(seed)
    table = {f"x{j}": rng.normal(size=n) for j in range(columns)}
    return {**table, "y": rng.permutation(np.repeat(["no", "yes"], n // 2))}
