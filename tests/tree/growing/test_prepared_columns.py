"""Prepared columns: bins hold their values, files give the bins of arrays."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.datasets import make_classification

from pansophy.ensemble import (
    HistGradientBoostingClassifier as Classifier,
)
from pansophy.ensemble import (
    HistGradientBoostingRegressor as Regressor,
)
from pansophy.tree.growing import _prepared_columns as loops
from pansophy.tree.growing import prepared_columns
from pansophy.tree.growing._structures import MISSING_CODE, SUBSET
from pansophy.tree.growing.prepared_columns import bin_columns, prepare_columns


def table(seed, n):
    """Columns of many values and of few, with missing ones, and weights."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 3)).astype(np.float32)
    X[:, 1] = np.round(X[:, 1])
    X[rng.random(X.shape) < 0.1] = np.nan
    return X, rng.random(n) + 0.1


@settings(max_examples=25, deadline=None)
@given(st.integers(0, 10**6), st.integers(2, 255))
def test_bins_hold_their_values(seed, most):
    X, w = table(seed, 400)
    for weights in (None, w):
        c = prepare_columns(X, weights, most, interleave=True)
        for f in range(3):
            x, code, (low, high) = X[:, f], c.codes[0, :, f], c.edges[f]
            there = ~np.isnan(x)
            assert np.all(code[~there] == 255)
            assert np.all(low[code[there]] <= x[there])
            assert np.all(x[there] <= high[code[there]])
            used = np.unique(code[there])
            np.testing.assert_array_equal(used, np.arange(len(used)))
            assert len(used) == min(most, len(np.unique(x[there]))) or len(used) < most


def test_bins_of_a_sample_hold_all_rows(monkeypatch):
    """A value is in the bin whose neighbours' midpoints it lies between."""
    monkeypatch.setattr(prepared_columns, "SAMPLE_ROWS", 200)
    monkeypatch.setattr(prepared_columns, "ROWS_PER_TASK", 64)
    X, w = table(1, 900)
    X[:, 2] = np.arange(900) % 7
    forms = np.array([0, 0, SUBSET])
    c = bin_columns(X, w, 20, forms)
    np.testing.assert_array_equal(c.properties["n_bins"][2], 7)
    np.testing.assert_array_equal(c.codes[0, :, 2], X[:, 2])
    np.testing.assert_array_equal(c.properties["has_missing"], [1, 1, 0])
    for f in range(2):
        bins = c.properties["n_bins"][f]
        low, high = c.edges[f].astype(float)
        middle = (high[: bins - 1] + low[1:bins]) / 2
        expected = np.searchsorted(middle, X[:, f].astype(float))
        expected[np.isnan(X[:, f])] = MISSING_CODE
        np.testing.assert_array_equal(c.codes[0, :, f], expected)
        assert len(np.unique(c.codes[0, :, f])) == bins + 1


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
    monkeypatch.setattr(prepared_columns, "SAMPLE_ROWS", sample)
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


@pytest.mark.parametrize("bins", [1, 2, 100, 255, 256])
def test_codes_are_the_limits_below(bins, rng):
    """Both loops that code values count as np.searchsorted does, ends included."""
    limits = np.full(256, np.inf, np.float32)
    limits[: bins - 1] = np.sort(rng.normal(size=bins - 1))
    x = np.r_[rng.normal(size=500), limits, -np.inf, np.nan].astype(np.float32)
    want = np.searchsorted(limits, x, side="left")
    want[np.isnan(x)] = MISSING_CODE
    assert want[-2] == 0 and want[:-1].max() == bins - 1
    codes = np.zeros(len(x), np.uint8)
    loops.bin_codes(x, limits, codes)
    np.testing.assert_array_equal(codes, want)
    tiles = np.zeros((1, len(x), 1), np.uint8)
    top, missing = np.zeros(1, np.int64), np.zeros(1, np.int64)
    forms = np.zeros(1, prepared_columns.COLUMN)["form"]
    loops.encode_block(x[:, None], limits[None], forms, tiles, 0, top, missing)
    np.testing.assert_array_equal(tiles[0, :, 0], want)
    assert missing[0] == 1
