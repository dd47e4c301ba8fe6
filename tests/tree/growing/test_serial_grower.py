"""The serial grower grows the same trees as the parallel one."""

import numpy as np
import pytest

from pansophy.tree.growing import grower as grower_module
from pansophy.tree.growing._structures import ABSOLUTE, POISSON, SQUARE, SUBSET, XLOGX
from pansophy.tree.growing.criteria import Criterion
from pansophy.tree.growing.grower import Grower, GrowthLimits
from pansophy.tree.growing.prepared_columns import prepare_columns

CASES = [
    GrowthLimits(max_features=2),
    GrowthLimits(),
    GrowthLimits(max_features=3, min_leaf=3, max_depth=5),
    GrowthLimits(max_features=2, random=True),
    GrowthLimits(random=True, min_leaf=2),
    GrowthLimits(max_features=1, min_weight=2.0, min_gain=0.01, min_split=6),
]


def data(classes, weights):
    """Targets, weights and rows in use, and columns: ties, and missing values."""
    rng = np.random.default_rng(3)
    n = 700
    X = rng.normal(size=(n, 4)).astype(np.float32)
    X[:, 1] = np.round(X[:, 1])
    X[rng.random(n) < 0.1, 2] = np.nan
    y = X[:, 0] + X[:, 1] + 0.3 * rng.normal(size=n)
    y = (y > 0).astype(float)[:, None] if classes else np.round(y, 1)[:, None]
    w = {"none": None, "counts": rng.integers(1, 4, n) * 1.0, "reals": rng.random(n)}
    rows = np.flatnonzero(rng.random(n) < 0.7).astype(np.int32)
    return X, y, w[weights], rows


def compare(short, long, random):
    """Both have grown the same nodes of the same rows."""
    for name in ("rows", "start", "stop"):
        np.testing.assert_array_equal(getattr(short, name), getattr(long, name))
    for name, a in short.tree._asdict().items():
        if isinstance(a, np.ndarray):
            b = getattr(long.tree, name)
            # random thresholds: the general loop has not rounded the weights
            near = 1e-8 if random and name == "impurity" else 1e-12
            np.testing.assert_allclose(a, b, rtol=near, atol=near, err_msg=name)
    assert short.tree.node_count > 3


@pytest.mark.parametrize("limits", CASES)
@pytest.mark.parametrize("classes", [(), (2,)])
@pytest.mark.parametrize("weights", ["none", "counts", "reals"])
def test_same_tree_as_the_general_loop(limits, classes, weights, monkeypatch):
    X, y, w, rows = data(classes, weights)
    criterion = Criterion(SQUARE, 1, classes)
    grower = Grower(prepare_columns(X, max_bins=255), criterion, limits, True)
    short = grower.grow(y, w, seed=5, rows=rows)
    monkeypatch.setattr(grower_module, "suits_serial_growth", lambda *_: False)
    compare(short, grower.grow(y, w, seed=5, rows=rows), limits.random)


@pytest.mark.parametrize("limits", [c for c in CASES if c.random])
@pytest.mark.parametrize("classes", [(), (2,)])
@pytest.mark.parametrize("weights", ["none", "reals"])
def test_random_thresholds_need_no_order(limits, classes, weights, monkeypatch):
    X, y, w, rows = data(classes, weights)
    criterion = Criterion(SQUARE, 1, classes)
    assert not grower_module.needs_sorted_columns(criterion, limits, 0)
    plain = prepare_columns(X, sort=False)
    assert len(plain.x) == 4 and not len(plain.order) and not len(plain.codes)
    short = Grower(plain, criterion, limits).grow(y, w, seed=5, rows=rows)
    monkeypatch.setattr(grower_module, "suits_serial_growth", lambda *_: False)
    long = Grower(prepare_columns(X), criterion, limits).grow(y, w, seed=5, rows=rows)
    compare(short, long, True)


SEVERAL = [
    Criterion(SQUARE, 1, (4,)),
    Criterion(XLOGX, 1, (4,)),
    Criterion(SQUARE, 2, (4, 2)),
    Criterion(SQUARE, 2),
    Criterion(POISSON, 1),
]


def targets(criterion, y):
    """Targets that suit a criterion, from real ones."""
    if criterion.is_class:
        both = np.c_[np.digitize(y, [-1, 0, 1]), y > 0.3].astype(float)
        return both[:, : criterion.n_outputs]
    return np.c_[abs(y), y**2][:, : criterion.n_outputs]


@pytest.mark.parametrize("limits", [CASES[0], CASES[2], CASES[4], CASES[5]])
@pytest.mark.parametrize("criterion", SEVERAL)
@pytest.mark.parametrize("weights", ["none", "reals"])
def test_same_tree_with_several_sums(limits, criterion, weights, monkeypatch):
    X, y, w, rows = data((), weights)
    y = targets(criterion, y[:, 0])
    grower = Grower(prepare_columns(X, max_bins=255), criterion, limits, True)
    short = grower.grow(y, w, seed=5, rows=rows)
    plain = Grower(prepare_columns(X, sort=not limits.random), criterion, limits)
    values = plain.grow(y, w, seed=5, rows=rows)
    monkeypatch.setattr(grower_module, "suits_serial_growth", lambda *_: False)
    compare(short, grower.grow(y, w, seed=5, rows=rows), True)
    lists = Grower(prepare_columns(X), criterion, limits)
    compare(values, lists.grow(y, w, seed=5, rows=rows), True)


def test_what_needs_an_order():
    random, square = GrowthLimits(random=True), Criterion(SQUARE, 1)
    assert not any(grower_module.needs_sorted_columns(c, random, 0) for c in SEVERAL)
    assert grower_module.needs_sorted_columns(square, GrowthLimits(), 0)
    assert grower_module.needs_sorted_columns(Criterion(ABSOLUTE, 1), random, 0)
    assert grower_module.needs_sorted_columns(square, random._replace(max_leaves=4), 0)
    assert grower_module.needs_sorted_columns(
        square, random._replace(signs=np.ones(1)), 0
    )
    assert grower_module.needs_sorted_columns(
        square, random._replace(groups=np.ones((1, 4), bool)), 0
    )
    assert grower_module.needs_sorted_columns(square, random, np.array([0, SUBSET]))
