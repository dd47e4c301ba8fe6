"""Data diagnostics: duplicate rows, and correlations with missing values."""

import numpy as np

from .runner import Case


def table_with_duplicates(size):
    """A data frame of numbers and levels in which 100 rows are repeated."""
    import pandas as pd

    n, d = size
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({f"x{j}": rng.normal(size=n) for j in range(d - 5)})
    for j in range(5):
        frame[f"c{j}"] = rng.choice(["red", "green", "blue"], n)
    frame.iloc[:100] = frame.iloc[-100:].to_numpy()
    return frame.infer_objects()


def ours_duplicates(frame):
    from pansophy.diagnose import duplicates

    return duplicates(frame, tolerance=0).exact


def pandas_duplicates(frame):
    return int(frame.duplicated().sum())


def columns_with_gaps(size):
    """Correlated columns with 5 % of the values missing."""
    n, d = size
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, d)) @ rng.normal(size=(d, d))
    X[rng.random(X.shape) < 0.05] = np.nan
    return X


def ours_correlation(X):
    from pansophy.diagnose.data.related_columns import pairwise_correlation

    return pairwise_correlation(X)


def pandas_correlation(X):
    import pandas as pd

    return pd.DataFrame(X).corr().to_numpy()


def correlation_error(X, r):
    """Largest difference from NumPy's correlation on a few pairs."""
    error = 0.0
    for i, j in ((0, 1), (2, 3)):
        both = ~np.isnan(X[:, [i, j]]).any(axis=1)
        error = max(error, abs(r[i, j] - np.corrcoef(X[both, i], X[both, j])[0, 1]))
    return error


CASES = [
    Case(
        name="repeated_rows",
        what="rows that repeat another one, numbers and levels",
        sizes=[(2_000, 20), (20_000, 30), (200_000, 50)],
        data=table_with_duplicates,
        ours=ours_duplicates,
        peers={"pandas": pandas_duplicates},
        quality=lambda data, found: abs(found - 100),
        tolerance=0.0,
        target=1.0,
    ),
    Case(
        name="correlations_with_gaps",
        what="all pairs of columns, each over the rows where both are known",
        sizes=[(1_000, 20), (10_000, 50), (50_000, 100)],
        data=columns_with_gaps,
        ours=ours_correlation,
        peers={"pandas": pandas_correlation},
        quality=correlation_error,
        tolerance=1e-9,
        target=2.0,
    ),
]
