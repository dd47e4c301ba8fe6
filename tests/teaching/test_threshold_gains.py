"""Split curves: gains of all thresholds, and the one that a tree chooses."""

import numpy as np
import pytest

from pansophy.params import ParameterError
from pansophy.teaching import split_curve
from pansophy.tree import DecisionTreeClassifier, DecisionTreeRegressor
from tests.oracles import tree as oracle

CLASSES = ["gini", "entropy", "log_loss", "zero_one", "gain_ratio"]
NUMBERS = [
    "squared_error",
    "friedman_mse",
    "absolute_error",
    "quantile",
    "poisson",
    "gaussian",
    "gaussian_joint",
    "direction",
]


@pytest.fixture(scope="module")
def column():
    """A column with ties, two real targets and weights, some of them 0."""
    rng = np.random.default_rng(3)
    x = np.round(rng.normal(size=70), 1).astype(np.float32).astype(float)
    Y = np.abs(np.c_[x**2 + rng.normal(size=70), x + rng.normal(size=70)])
    return x, Y, rng.integers(0, 4, 70) / 2.0


def slow_gains(criterion, x, Y, w, thresholds):
    """Gains with the impurity of both sides computed from scratch."""
    x, Y, w = x[w > 0], Y[w > 0], w[w > 0]
    if str(criterion).startswith("gaussian"):
        Y = Y - np.average(Y, axis=0, weights=w)
        Y = Y / np.sqrt(np.average(Y**2, axis=0, weights=w))
    impurity = lambda rows: oracle.impurity(criterion, Y[rows], w[rows])
    gains = []
    for t in thresholds:
        left, share = x <= t, w[x <= t].sum() / w.sum()
        gains.append(
            impurity(x == x) - share * impurity(left) - (1 - share) * impurity(~left)
        )
        if criterion == "gain_ratio":
            both = np.array([share, 1 - share])
            gains[-1] /= -np.sum(both * np.log2(both))
    return np.array(gains)


@pytest.mark.parametrize("criterion", CLASSES + NUMBERS)
@pytest.mark.parametrize("outputs", [1, 2])
def test_curve_is_that_of_the_definition(criterion, outputs, column):
    x, Y, w = column
    Y = Y[:, :outputs]
    if criterion in CLASSES:
        Y = np.digitize(Y, [0.5, 1.5])
    if criterion in ("zero_one", "gain_ratio") and outputs > 1:
        with pytest.raises(ValueError, match="one column of classes"):
            split_curve(x, Y, criterion, w)
        return
    y = Y[:, 0] if outputs == 1 else Y
    thresholds, gains = split_curve(x, y, criterion, w, quantile=0.8)
    values = np.unique(x[w > 0])
    np.testing.assert_allclose(thresholds, (values[1:] + values[:-1]) / 2)
    slow = {"quantile": 0.8, "friedman_mse": "squared_error"}.get(criterion, criterion)
    expected = slow_gains(slow, x, Y, w, thresholds)
    np.testing.assert_allclose(gains, expected, atol=1e-9)


@pytest.mark.parametrize("criterion", CLASSES + NUMBERS[:-1])
@pytest.mark.parametrize("max_bins", [None, 6, 200])
def test_a_stump_splits_at_the_best_of_the_curve(criterion, max_bins, column):
    x, Y, w = column
    if max_bins is not None and criterion in ("absolute_error", "quantile"):
        return  # trees refuse bins there
    options = {"max_depth": 1, "max_bins": max_bins}
    if criterion in CLASSES:
        y = np.digitize(Y[:, 0], [0.5, 1.5])
        model = DecisionTreeClassifier(criterion, **options)
    else:
        y = Y[:, 0]
        model = DecisionTreeRegressor(criterion, quantile=0.8, **options)
    thresholds, gains = split_curve(x, y, criterion, w, quantile=0.8, max_bins=max_bins)
    assert len(thresholds) == (5 if max_bins == 6 else len(np.unique(x[w > 0])) - 1)
    tree = model.fit(x[:, None], y, w).tree_
    at = np.argmin(np.abs(thresholds - tree.threshold[0]))
    assert thresholds[at] == pytest.approx(tree.threshold[0])
    assert gains[at] == pytest.approx(gains.max())


def test_as_many_bins_as_values_are_exact():
    rng = np.random.default_rng(0)
    x = rng.normal(size=50).astype(np.float32).astype(float)
    y = rng.integers(0, 3, 50)
    for a, b in zip(split_curve(x, y), split_curve(x, y, max_bins=50)):
        np.testing.assert_allclose(a, b)


def test_errors_name_what_is_wrong():
    x, y = np.arange(4.0), np.array([0, 0, 1, 1])
    with pytest.raises(ValueError, match="criterion must be one of gini"):
        split_curve(x, y, "mse")
    with pytest.raises(ValueError, match="x holds missing"):
        split_curve([1, np.nan, 2, 3], y)
    with pytest.raises(ValueError, match="an entry for each"):
        split_curve(x, y[:3])
    with pytest.raises(ValueError, match="an entry for each"):
        split_curve(np.c_[x, x], y)
    with pytest.raises(ValueError, match="finite numbers"):
        split_curve(x, list("abab"), "squared_error")
    with pytest.raises(ValueError, match="negative"):
        split_curve(x, [-1.0, 1, 1, 1], "poisson")
    with pytest.raises(ValueError, match="quantile must lie"):
        split_curve(x, y, "quantile", quantile=1.0)
    with pytest.raises(ParameterError, match="max_bins"):
        split_curve(x, y, max_bins=1)
    with pytest.raises(ParameterError, match="max_bins"):
        split_curve(x, y, max_bins=300)
