"""Binning of tables for boosting: files give the trees of their rows in memory."""

import numpy as np
import pytest
from sklearn.datasets import make_classification

from pansophy.ensemble import (
    HistGradientBoostingClassifier as Classifier,
)
from pansophy.ensemble import (
    HistGradientBoostingRegressor as Regressor,
)


def classes(n=600, k=3, seed=0):
    return make_classification(
        n, 8, n_informative=5, n_classes=k, flip_y=0.1, random_state=seed
    )


def parquet(X, path):
    pa = pytest.importorskip("pyarrow")
    import pyarrow.parquet as pq

    pq.write_table(pa.table({f"x{j}": X[:, j] for j in range(X.shape[1])}), path)
    return path


@pytest.mark.parametrize("sample", [100, 10_000])
def test_a_file_gives_the_trees_of_the_same_rows_in_memory(
    tmp_path, monkeypatch, sample
):
    from pansophy.ensemble import binning

    monkeypatch.setattr(binning, "SAMPLE_ROWS", sample)
    X, y = classes(1500, 3)
    X[::7, 2] = np.nan
    path = parquet(X, tmp_path / "t.parquet")
    options = {"max_iter": 4, "early_stopping": True, "random_state": 0}
    a, b = Classifier(**options).fit(X, y), Classifier(**options).fit(path, y)
    for left, right in zip(a.trees_, b.trees_):
        np.testing.assert_array_equal(left, right)
    np.testing.assert_array_equal(a.predict_proba(X), b.predict_proba(path))
    w = np.random.default_rng(0).integers(0, 3, 1500)
    a, b = (Regressor(max_iter=4).fit(t, y, w) for t in (X, path))
    np.testing.assert_array_equal(a.predict(X), b.predict(path))
