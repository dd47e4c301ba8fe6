"""Looking at a table: repeated rows, associations of columns."""

import numpy as np

from .runner import Case


def repeated(size):
    """Numbers and levels, with 100 rows repeated."""
    import pandas as pd

    n, d = size
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({f"x{j}": rng.normal(size=n) for j in range(d - 5)})
    for j in range(5):
        frame[f"c{j}"] = rng.choice(["red", "green", "blue"], n)
    frame.iloc[:100] = frame.iloc[-100:].to_numpy()
    return frame.infer_objects()


def ours_repeated(frame):
    from pansophy.diagnose import duplicates

    return duplicates(frame, tolerance=0).exact


def pandas_repeated(frame):
    return int(frame.duplicated().sum())


def related(size):
    n, d = size
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, d)) @ rng.normal(size=(d, d))
    X[rng.random(X.shape) < 0.05] = np.nan
    return X


def ours_related(X):
    from pansophy.diagnose.related_columns import pairwise_correlation

    return pairwise_correlation(X)


def pandas_related(X):
    import pandas as pd

    return pd.DataFrame(X).corr().to_numpy()


def off(X, r):
    """Largest difference from the plain formula on a few pairs."""
    far = 0.0
    for i, j in ((0, 1), (2, 3)):
        both = ~np.isnan(X[:, [i, j]]).any(axis=1)
        far = max(far, abs(r[i, j] - np.corrcoef(X[both, i], X[both, j])[0, 1]))
    return far


CASES = [
    Case(
        name="repeated_rows",
        what="rows that repeat another one, numbers and levels",
        sizes=[(2_000, 20), (20_000, 30), (200_000, 50)],
        data=repeated,
        ours=ours_repeated,
        peers={"pandas": pandas_repeated},
        quality=lambda data, found: abs(found - 100),
        tolerance=0.0,
        target=1.0,
    ),
    Case(
        name="correlations_with_gaps",
        what="all pairs of columns, each over the rows where both are known",
        sizes=[(1_000, 20), (10_000, 50), (50_000, 100)],
        data=related,
        ours=ours_related,
        peers={"pandas": pandas_related},
        quality=off,
        tolerance=1e-9,
        target=2.0,
    ),
]
