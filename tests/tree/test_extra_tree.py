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
