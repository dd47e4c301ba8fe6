"""Trees on one prepared table: screening of stumps."""

import numpy as np
import pytest
from sklearn.datasets import make_classification

from pansophy.ensemble import AdaBoostClassifier, BaggingClassifier, BaggingRegressor
from pansophy.ensemble.forests import tree_table
from pansophy.tree import DecisionTreeClassifier, DecisionTreeRegressor
from pansophy.tree.growing.prepared_columns import prepare_columns


@pytest.mark.parametrize("places", [None, 2])
def test_screening_changes_no_stump(places, monkeypatch):
    X, y = make_classification(
        3000, 6, n_informative=3, flip_y=0.2, random_state=3, shuffle=True
    )
    X = X if places is None else X.round(places)  # ties, yet more than 255 values
    fast = AdaBoostClassifier(n_estimators=30).fit(X, y)
    monkeypatch.setattr(tree_table, "MIN_SCREENED_ROWS", 10**9)
    slow = AdaBoostClassifier(n_estimators=30).fit(X, y)
    for a, b in zip(fast, slow):
        for p, q in zip(a.tree_, b.tree_):
            np.testing.assert_array_equal(p, q)


@pytest.mark.parametrize("seed", range(5))
def test_bounds_hold_at_every_place(seed):
    rng = np.random.default_rng(seed)
    n = 700
    X = rng.normal(size=(n, 3)).astype(np.float32)
    y = rng.integers(0, 2, (n, 1)).astype(float)
    w = rng.exponential(size=n)
    made = tree_table.StumpScreen(prepare_columns(X))
    kept = made.columns(y, w)
    W, S = w.sum(), w @ y[:, 0]
    best = []
    for f in range(3):
        order = np.argsort(X[:, f])
        v, u = np.cumsum(w[order])[:-1], np.cumsum((w * y[:, 0])[order])[:-1]
        gains = (u - S / W * v) ** 2 / (v * (W - v))
        assert gains.max() <= made.bound[f] * (1 + 1e-12)
        assert gains.max() >= made.best[f] * (1 - 1e-12)
        best.append(gains.max())
    assert np.argmax(best) in kept


@pytest.mark.parametrize("ensemble", [BaggingClassifier, AdaBoostClassifier])
def test_balanced_members_count_rows_by_weight(ensemble, rng):
    """Weight k equals k repeated rows for members with class_weight="balanced"."""
    X = rng.normal(size=(80, 3))
    y = (X[:, 0] + 0.5 * rng.normal(size=80) > 0.8).astype(int)
    w = rng.integers(0, 4, 80)
    tree = DecisionTreeClassifier(max_depth=2, class_weight="balanced")
    options = {"n_estimators": 3, "random_state": 0}
    if ensemble is BaggingClassifier:
        options["bootstrap"] = False
    weighted = ensemble(tree, **options).fit(X, y, w)
    repeated = ensemble(tree, **options).fit(np.repeat(X, w, 0), np.repeat(y, w))
    np.testing.assert_allclose(
        weighted.predict_proba(X), repeated.predict_proba(X), atol=1e-10
    )


@pytest.mark.parametrize("constraints", [None, [1, 0, -1]])
def test_members_on_some_columns_equal_trees_of_these_columns(constraints, rng):
    """Whether members share one prepared table or are fitted alone."""
    X = rng.normal(size=(200, 3))
    y = X @ [1.0, 2.0, -1.0] + rng.normal(size=200)
    tree = DecisionTreeRegressor(max_depth=3, monotonic_cst=constraints)
    ensemble = BaggingRegressor(
        tree, 4, max_features=3, bootstrap=False, random_state=0
    )
    alone = DecisionTreeRegressor(max_depth=3, monotonic_cst=constraints).fit(X, y)
    np.testing.assert_allclose(ensemble.fit(X, y).predict(X), alone.predict(X))
    some = BaggingRegressor(tree, 4, max_features=2, bootstrap=False, random_state=0)
    if constraints is not None:
        with pytest.raises(ValueError, match="monotonic_cst"):
            some.fit(X, y)  # as in scikit-learn: three constraints for two columns
        return
    some.fit(X, y)
    expected = [
        DecisionTreeRegressor(max_depth=3).fit(X[:, c], y).predict(X[:, c])
        for c in some.estimators_features_
    ]
    np.testing.assert_allclose(some.predict(X), np.mean(expected, axis=0))
