"""Reliability, its numbers, and maps of probabilities fitted on held-out rows."""

import numpy as np
import pytest
from sklearn.calibration import calibration_curve
from sklearn.metrics import brier_score_loss
from sklearn.svm import SVC

from pansophy.compare import (
    brier_decomposition,
    calibrate_folds,
    calibration_error,
    fit_calibration,
    reliability_curve,
)
from pansophy.compare.evaluation.calibration import clipped_logit


def table(rng, n=2000, power=1.0):
    """Classes drawn from p, and p sharpened by a power."""
    a = rng.normal(size=(n, 3))
    p = np.exp(a) / np.exp(a).sum(1, keepdims=True)
    y = (p.cumsum(1) < rng.random((n, 1))).sum(1)
    q = p**power
    return y, p, q / q.sum(1, keepdims=True)


def log_loss(y, p):
    return -np.log(np.clip(p[np.arange(len(y)), y], 1e-15, 1)).mean()


def test_curve_against_scikit_learn(rng):
    p = rng.random(500)
    y = (rng.random(500) < p).astype(int)
    for strategy in ("uniform", "quantile"):
        curve = reliability_curve(y, p, bins=7, strategy=strategy)
        share, mean = calibration_curve(y, p, n_bins=7, strategy=strategy)
        assert np.allclose(curve.observed, share) and np.allclose(curve.predicted, mean)
        assert curve.count.sum() == 500


def test_band_is_that_of_rows_drawn_one_by_one(rng):
    p = rng.random(300)
    y = (rng.random(300) < p).astype(int)
    curve = reliability_curve(y, p, bins=3, strategy="uniform", level=0.9)
    at, shares = np.minimum((p * 3).astype(int), 2), []
    for _ in range(1500):
        i = rng.integers(0, 300, 300)
        shares.append([y[i][at[i] == b].mean() for b in range(3)])
    low, high = np.quantile(shares, [0.05, 0.95], axis=0)
    assert np.allclose(curve.low, low, atol=0.02)
    assert np.allclose(curve.high, high, atol=0.02)


def test_band_covers_the_truth():
    rng = np.random.default_rng(0)
    inside = []
    for i in range(100):
        p = rng.random(500)
        y = (rng.random(500) < p).astype(int)
        c = reliability_curve(y, p, bins=5, n_resamples=400, random_state=i)
        inside.append((c.low <= c.predicted) & (c.predicted <= c.high))
    assert 0.91 <= np.mean(inside) <= 0.98


def test_decomposition_adds_up(rng):
    p = rng.random(400).round(1)
    y = (rng.random(400) < p**2).astype(int)
    for bins in (None, 4, 10):
        b = brier_decomposition(y, p, bins)
        assert b.brier == pytest.approx(brier_score_loss(y, p))
        parts = b.reliability - b.resolution + b.uncertainty + b.within
        assert parts == pytest.approx(b.brier)
    exact = brier_decomposition(y, p)
    assert exact.within == 0 and exact.reliability > 0.01
    constant = brier_decomposition(y, np.full(400, y.mean()))
    assert constant.brier == pytest.approx(constant.uncertainty)


def test_calibration_error_by_hand():
    y, p = [0, 1, 1, 1], [0.1, 0.1, 0.8, 0.8]
    assert calibration_error(y, p, bins=None) == pytest.approx((0.4 + 0.2) / 2)
    wide = np.array([[0.7, 0.2, 0.1], [0.1, 0.8, 0.1]])
    assert calibration_error([0, 2], wide, bins=None) == pytest.approx((0.3 + 0.8) / 2)
    assert calibration_error([0, 2], wide, bins=None, of=2) == pytest.approx(0.4)


@pytest.mark.parametrize("how", ["sigmoid", "isotonic", "temperature"])
def test_calibration_corrects_overconfidence(how):
    rng = np.random.default_rng(0)
    y, p, q = table(rng, power=3.0)
    fold = np.arange(len(y)) % 5
    calibrated = calibrate_folds(q, y, fold, how)
    assert np.allclose(calibrated.sum(1), 1)
    assert log_loss(y, q) > log_loss(y, p) + 0.2
    assert log_loss(y, calibrated) < log_loss(y, p) + 0.03
    assert calibration_error(y, calibrated) < 0.04 < calibration_error(y, q)


def test_temperature_finds_the_power(rng):
    y, _, q = table(rng, 20_000, power=3.0)
    found = fit_calibration(q, y, "temperature")
    assert found.values[0] == pytest.approx(1 / 3, abs=0.02)
    assert np.array_equal(found.apply(q).argmax(1), q.argmax(1))


def test_sigmoid_is_platts(rng):
    """Newton's own two equations vanish at soft targets."""
    y, p, _ = table(rng, 300)
    one = (y == 0) * 1.0
    calibration = fit_calibration(p[:, 0], one.astype(int), "sigmoid")
    q = calibration.apply(p[:, 0])
    plus, minus = one.sum(), (1 - one).sum()
    t = np.where(one == 1, (plus + 1) / (plus + 2), 1 / (minus + 2))
    assert (
        np.abs([(q - t).mean(), ((q - t) * clipped_logit(p[:, 0])).mean()]).max() < 1e-6
    )
    k = rng.integers(1, 4, 300)
    weighted = fit_calibration(p[:, 0], one.astype(int), "sigmoid", weights=k)
    many = np.repeat(p[:, 0], k), np.repeat(one, k).astype(int)
    assert np.allclose(weighted.values, fit_calibration(*many, "sigmoid").values)


def test_isotonic_never_says_never(rng):
    p = np.linspace(0, 1, 100)
    calibration = fit_calibration(p, (p > 0.5).astype(int), "isotonic")
    q = calibration.apply(np.array([0.0, 0.2, 0.8, 1.0]))
    assert q.min() == pytest.approx(1 / 102) and q.max() == pytest.approx(101 / 102)
    y, p3, _ = table(rng, 200)
    k = rng.integers(1, 4, 200)
    a = fit_calibration(p3, y, "isotonic", weights=k).apply(p3)
    b = fit_calibration(np.repeat(p3, k, 0), np.repeat(y, k), "isotonic").apply(p3)
    assert np.allclose(a, b)


def test_inner_folds_only():
    """A machine that knows its own rows by heart: its own scores mislead the map."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(200, 5))
    y = (X[:, 0] + 2 * rng.normal(size=200) > 0).astype(int)
    sharp = lambda s: 1 / (1 + np.exp(-5 * s))
    own = sharp(SVC(C=1e3, gamma=1.0).fit(X, y).decision_function(X))
    fold, held = np.arange(200) % 5, np.empty(200)
    for f in range(5):
        rest = fold != f
        model = SVC(C=1e3, gamma=1.0).fit(X[rest], y[rest])
        held[~rest] = sharp(model.decision_function(X[~rest]))
    loss = lambda p: log_loss(y, np.column_stack([1 - p, p]))
    fooled = fit_calibration(own, y, "sigmoid").apply(held)
    honest = calibrate_folds(held, y, fold, "sigmoid")
    assert loss(honest) < 0.72 < loss(fooled)


def test_edges_and_bad_input():
    assert fit_calibration([0.5], [1], "sigmoid").apply(
        np.array([0.5])
    ) == pytest.approx(2 / 3)
    one_class = fit_calibration([0.2, 0.4], [0, 0], "isotonic").apply(np.array([0.3]))
    assert one_class == pytest.approx(0.25)
    same = np.array([[0.2, 0.8]])
    assert np.array_equal(fit_calibration(same, [1], "none").apply(same), same)
    curve = reliability_curve([1], [0.7])
    assert (curve.observed[0], curve.count[0]) == (1, 1)
    for wrong, words in [
        (lambda: fit_calibration([0.5, np.nan], [0, 1]), "finite"),
        (lambda: fit_calibration([0.5], [2]), "codes from 0 to 1"),
        (lambda: fit_calibration([0.5], [1], "beta"), "method must be one of"),
        (lambda: fit_calibration([0.5], [1], weights=[0.0]), "weights must be"),
        (lambda: calibration_error([0], [1.5]), "between 0 and 1"),
        (lambda: calibration_error([0, 1], [0.5]), "must have 1 entries"),
        (lambda: calibration_error([0, 3], [0.5, 0.5]), "0 and 1 only"),
        (lambda: reliability_curve([0], [0.5], strategy="kmeans"), "strategy must be"),
        (lambda: calibrate_folds([0.5, 0.6], [0, 1], [0, 0]), "two folds"),
    ]:
        with pytest.raises(ValueError, match=words):
            wrong()
    three = fit_calibration(np.eye(3), [0, 1, 2], "isotonic")
    with pytest.raises(ValueError, match="3 columns"):
        three.apply(np.ones((1, 2)) / 2)
