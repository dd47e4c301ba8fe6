"""Extremely randomised trees: parameters, seeds and depth, as in scikit-learn."""

import numpy as np
import pytest
from sklearn import tree as sktree

from pansophy.tree import ExtraTreeClassifier, ExtraTreeRegressor


@pytest.mark.parametrize("kind", ["Classifier", "Regressor"])
def test_extra_trees_have_sklearns_parameters(kind):
    ours = {"Classifier": ExtraTreeClassifier, "Regressor": ExtraTreeRegressor}[kind]
    theirs = getattr(sktree, f"ExtraTree{kind}")().get_params()
    mine = ours().get_params()
    assert {k: mine[k] for k in theirs} == theirs
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 6))
    y = np.round(X[:, 0] + X[:, 1] > 0).astype(int)
    a, b = (ours(random_state=s).fit(X, y) for s in (0, 0))
    np.testing.assert_array_equal(a.tree_.threshold, b.tree_.threshold)
    assert a.score(X, y) == 1.0
    assert a.max_features_ == (2 if kind == "Classifier" else 6)
    # as deep on the average as scikit-learn's
    other = getattr(sktree, f"ExtraTree{kind}")
    depths = [
        [c(random_state=s).fit(X, y).get_depth() for s in range(20)]
        for c in (ours, other)
    ]
    assert np.mean(depths[0]) == pytest.approx(np.mean(depths[1]), rel=0.15)


@pytest.mark.parametrize("outputs", [1, 2])
@pytest.mark.parametrize("limits", [{}, {"max_bins": 8}, {"max_leaf_nodes": 4}])
def test_one_value_is_parted_from_missing_ones(limits, outputs):
    """A drawn threshold is no reason to leave the only split of a column out."""
    X = np.array([[np.nan], [1.0], [np.nan], [1.0]])
    y = np.array([0.0, 1.0, 0.0, 1.0])
    y = y if outputs == 1 else np.c_[y, 1 - y]
    for seed in range(4):
        for cls in (ExtraTreeClassifier, ExtraTreeRegressor):
            model = cls(random_state=seed, **limits).fit(X, y)
            assert model.tree_.node_count == 3
            assert model.tree_.threshold[0] == 1.0
            np.testing.assert_array_equal(model.predict(X), y)
