"""Curves over rows and over complexity."""

import numpy as np
import pytest
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import PolynomialFeatures

from pansophy.diagnose import complexity_curve, learning_curve
from pansophy.linear_model import LinearRegression, LogisticRegression


def waves(rng, n):
    x = rng.uniform(-1, 1, size=(n, 1))
    return x, np.sin(4 * x[:, 0]) + 0.3 * rng.normal(size=n)


def test_starved_and_saturated(rng):
    # sizes at which each of ten and twelve seeds has the verdict
    X = rng.normal(size=(800, 60))
    y = (X @ rng.normal(size=60) > 0).astype(int)
    starved = learning_curve(LogisticRegression(), X, y)
    assert starved.verdict == "rising" and "likely to help" in str(starved)
    X = rng.normal(size=(2400, 2))
    few = X, (X[:, 0] + rng.normal(size=2400) > 0).astype(int)
    flat = learning_curve(LogisticRegression(), *few)
    assert flat.verdict == "flat" and "hardly help" in str(flat)
    losses = learning_curve(LogisticRegression(), *few, scoring="neg_log_loss")
    assert losses.verdict == "flat" and np.all(losses.test < 0)
    again = learning_curve(LogisticRegression(), *few)
    np.testing.assert_array_equal(flat.test, again.test)
    assert np.all(np.diff(flat.sizes) > 0) and flat.sizes[-1] == 1920


def test_gap_shrinks_with_rows(rng):
    X, y = waves(rng, 400)
    model = make_pipeline(PolynomialFeatures(6, include_bias=False), LinearRegression())
    curve = learning_curve(model, X, y, sizes=[20, 80, 320])
    gaps = (curve.train - curve.test).mean(1)
    assert gaps[0] > gaps[1] > gaps[2]
    assert curve.intervals[-1].low < curve.test[-1].mean() < curve.intervals[-1].high
    from sklearn.neighbors import KNeighborsRegressor

    few = learning_curve(KNeighborsRegressor(30), X, y)
    assert few.sizes[0] >= 30  # smaller samples have no 30 neighbours
    assert len(learning_curve(LinearRegression(), X[:15], y[:15]).sizes) > 1
    with pytest.raises(ValueError, match="sizes"):
        learning_curve(model, X, y, sizes=[0.5])


def test_complexity(rng):
    X, y = waves(rng, 60)
    model = make_pipeline(PolynomialFeatures(include_bias=False), LinearRegression())
    degrees = [1, 3, 5, 9, 14]
    curve = complexity_curve(model, X, y, "polynomialfeatures__degree", degrees)
    assert np.all(np.diff(curve.train.mean(1)) >= -1e-9)  # nested families
    verdicts = [v.verdict for v in curve.fits.verdicts]
    assert verdicts[0] == "underfit" and verdicts[-1] == "overfit"
    assert curve.values[curve.best] in (3, 5) and curve.simplest <= curve.best
    assert "best held-out score" in str(curve)


def test_rows_of_any_table(rng):
    import pandas as pd
    import scipy.sparse as sp

    X, y = waves(rng, 100)
    right = learning_curve(LinearRegression(), X, y).test
    for table in (pd.DataFrame(X, columns=["x"]), sp.csr_array(X), X.tolist()):
        found = learning_curve(LinearRegression(), table, y).test
        np.testing.assert_allclose(found, right, rtol=1e-9)
    groups = np.repeat(np.arange(20), 5)
    kept = learning_curve(LinearRegression(), X, y, groups=groups)
    assert kept.test.shape == right.shape
