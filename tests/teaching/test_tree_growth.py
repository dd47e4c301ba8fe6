"""The growth curve equals refitting at every size."""

import numpy as np
import pytest
from sklearn.datasets import make_classification, make_regression

from pansophy import datasets
from pansophy.teaching import growth_curve
from pansophy.tree import DecisionTreeClassifier, DecisionTreeRegressor, ID3Classifier


@pytest.fixture(scope="module")
def data():
    X, y = make_classification(
        500, 6, n_informative=4, n_classes=3, flip_y=0.2, random_state=0
    )
    return X[:250], y[:250], X[250:], y[250:]


@pytest.mark.parametrize("criterion", ["gini", "entropy"])
def test_curve_equals_refitting(data, criterion):
    X, y, Z, z = data
    curve = growth_curve(DecisionTreeClassifier(criterion), *data)
    assert curve.score == "accuracy"
    np.testing.assert_array_equal(curve.nodes, 2 * curve.leaves - 1)
    np.testing.assert_array_equal(curve.leaves, np.arange(1, len(curve.leaves) + 1))
    for k in (2, 3, 7, 20, 40):
        model = DecisionTreeClassifier(criterion, max_leaf_nodes=k).fit(X, y)
        assert curve.train[k - 1] == pytest.approx(model.score(X, y))
        assert curve.validation[k - 1] == pytest.approx(model.score(Z, z))


def test_training_accuracy_is_monotone_and_the_peak_is_returned(data):
    curve = growth_curve(DecisionTreeClassifier(), *data)
    assert np.all(np.diff(curve.train) >= -1e-12)
    assert curve.train[-1] == 1.0
    assert curve.validation[curve.peak] == curve.validation.max()
    assert curve.validation[-1] < curve.validation[curve.peak]
    best = DecisionTreeClassifier(max_leaf_nodes=curve.best_leaves).fit(*data[:2])
    assert best.score(*data[2:]) == pytest.approx(curve.validation.max())


def test_numbers():
    X, y = make_regression(300, 5, noise=50.0, random_state=0)
    curve = growth_curve(DecisionTreeRegressor(), X[:150], y[:150], X[150:], y[150:])
    assert curve.score == "R2" and np.all(np.diff(curve.train) >= -1e-12)
    assert curve.train[0] == pytest.approx(0.0) and curve.train[-1] == pytest.approx(
        1.0
    )
    for k in (2, 9, 30):
        model = DecisionTreeRegressor(max_leaf_nodes=k).fit(X[:150], y[:150])
        assert curve.validation[k - 1] == pytest.approx(model.score(X[150:], y[150:]))


def test_parameters_are_kept(data):
    model = DecisionTreeClassifier(max_leaf_nodes=3, min_samples_leaf=30)
    curve = growth_curve(model, *data, sample_weight=np.ones(250))
    full = DecisionTreeClassifier(min_samples_leaf=30).fit(*data[:2])
    assert curve.leaves[-1] == full.get_n_leaves()
    assert not hasattr(model, "tree_")


def test_one_leaf():
    curve = growth_curve(DecisionTreeClassifier(), [[1], [2]], [1, 1], [[1]], [1])
    assert curve.leaves.tolist() == [1] and curve.best_leaves == 1


def test_multiway():
    table = datasets.load_weather().table
    X, y = table.drop_columns(["Play"]).to_pandas(), table["Play"].to_pylist()
    curve = growth_curve(ID3Classifier(), X, y, X, y)
    assert curve.leaves.tolist() == [1, 3, 4, 5]
    assert curve.nodes.tolist() == [1, 4, 6, 8]
    np.testing.assert_allclose(curve.train, np.array([9, 10, 12, 14]) / 14)
