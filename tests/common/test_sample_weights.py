"""Weights equal repeated rows, for every estimator that takes `sample_weight`.

A row of weight k is k equal rows, a row of weight 0 is no row, and two copies of a row
with weight 1/2 are that row: exactly so in every deterministic method, whatever the
class weights.
"""

import inspect

import numpy as np
import pytest
from sklearn.utils.validation import has_fit_parameter

from pansophy.testing import (
    all_estimators,
    expected_failures,
    quick_instance,
    role_names,
)

WHOLE = {"CategoricalNB", "JointTableClassifier", "TreeAugmentedNB", "LabelModel"}
EQUIVALENCE = "check_sample_weight_equivalence_on_dense_data"

# estimators whose weights are not repetitions, with the reason
DRAWN = "draws rows or visits them one at a time: equal in expectation only"
EXEMPT = {
    name: reason
    for name, cls in all_estimators()
    if name not in WHOLE
    and (reason := expected_failures(cls()).get(EQUIVALENCE))
    and "singular covariance" not in reason
}

# estimators whose fit is the same for w and 10 w: no penalty, prior or weight limit
SCALE_FREE = {
    "DecisionTreeClassifier", "DecisionTreeRegressor", "ExtraTreeClassifier",
    "ExtraTreeRegressor", "ExtraTreesClassifier", "ExtraTreesRegressor",
    "GaussianNB", "GradientBoostingClassifier", "GradientBoostingRegressor", "KMeans",
    "KMedians", "LinearDiscriminantAnalysis", "LinearRegression",
    "QuadraticDiscriminantAnalysis", "QuantileRegressor", "GaussianMixture",
}  # fmt: skip

WEIGHTED = [
    pytest.param(name, cls, id=name)
    for name, cls in all_estimators()
    if has_fit_parameter(cls, "sample_weight") and name not in EXEMPT
]
BALANCED = [
    param
    for param in WEIGHTED
    if "class_weight" in inspect.signature(param.values[1]).parameters
]


def make_data(name, cls, n=36, seed=0):
    """Rows X, targets y (or None) and whole weights with zeros among them."""
    rng = np.random.default_rng(seed)
    X = rng.integers(0, 3, (n, 3)).astype(float)
    if name not in WHOLE:
        X += rng.random((n, 3)).round(3)
    y, roles = None, role_names(cls)
    if "classifier" in roles:
        y = np.array(["a", "b", "c"])[
            np.r_[[0, 1, 2] * 2, rng.choice(3, n - 6, p=[0.6, 0.3, 0.1])]
        ]
    elif "regressor" in roles or "transformer" in roles:
        y = (X @ [1.0, 0.5, 2.0] + rng.random(n)).round(3)
    w = rng.integers(0, 4, n).astype(float)
    w[:6] = [1, 2, 3, 3, 2, 1]  # every class has weight
    return X, y, w


def fitted(cls, X, y, w, **params):
    model = quick_instance(cls)
    names = model.get_params(deep=False)
    if "random_state" in names:
        params["random_state"] = 0
    model.set_params(**params)
    return model.fit(X, y, sample_weight=w)


def outputs(model, X):
    """What a model says of rows, by method."""
    found = {}
    for method in (
        "predict_proba",
        "decision_function",
        "predict",
        "transform",
        "score_samples",
    ):
        call = getattr(model, method, None)
        if call is None:
            continue
        out = call(X)
        out = out.toarray() if hasattr(out, "toarray") else np.asarray(out)
        if out.dtype.kind in "fiu":
            found[method] = out
        elif method == "predict":
            found[method] = (out[:, None] == out[None, :]).astype(float)
    return found


def assert_same(one, two, X):
    a, b = outputs(one, X), outputs(two, X)
    assert set(a) == set(b)
    assert a, "nothing to compare"
    for method, value in a.items():
        scale = 1e-6 * max(1.0, float(np.abs(value).max(initial=0)))
        np.testing.assert_allclose(
            value, b[method], rtol=1e-5, atol=scale, err_msg=method
        )


def rows(y, index):
    return None if y is None else y[index]


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(("name", "cls"), WEIGHTED)
def test_whole_weights_are_repeated_rows(name, cls):
    X, y, w = make_data(name, cls)
    again = np.repeat(np.arange(len(X)), w.astype(int))
    one = fitted(cls, X, y, w)
    assert_same(one, fitted(cls, X[again], rows(y, again), np.ones(len(again))), X)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(("name", "cls"), WEIGHTED)
def test_two_halves_are_a_row(name, cls):
    X, y, _ = make_data(name, cls)
    twice = np.repeat(np.arange(len(X)), 2)
    halves = np.tile([0.5, 0.5], len(X))
    one = fitted(cls, X, y, np.ones(len(X)))
    assert_same(one, fitted(cls, X[twice], rows(y, twice), halves), X)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(("name", "cls"), WEIGHTED)
def test_rows_of_weight_0_are_no_rows(name, cls):
    X, y, w = make_data(name, cls)
    kept = np.flatnonzero(w)
    wild = X.copy()
    wild[w == 0] = 2.0 if name in WHOLE else 40.0
    one = fitted(cls, wild, y, w)
    assert_same(one, fitted(cls, X[kept], rows(y, kept), w[kept]), X[kept])


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(("name", "cls"), BALANCED)
@pytest.mark.parametrize("rule", ["balanced", "dict"])
def test_class_weights_count_by_weight(name, cls, rule):
    X, y, w = make_data(name, cls)
    rule = {"a": 0.5, "b": 2.0, "c": 3.0} if rule == "dict" else rule
    again = np.repeat(np.arange(len(X)), w.astype(int))
    one = fitted(cls, X, y, w, class_weight=rule)
    repeated = fitted(cls, X[again], y[again], None, class_weight=rule)
    assert_same(one, repeated, X)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(
    ("name", "cls"), [p for p in WEIGHTED if p.values[0] in SCALE_FREE]
)
@pytest.mark.parametrize("scale", [10.0, 0.1])
def test_the_scale_of_weights_does_not_matter(name, cls, scale):
    X, y, w = make_data(name, cls)
    kept = w > 0
    X, y, w = X[kept], rows(y, kept), w[kept]
    assert_same(fitted(cls, X, y, w), fitted(cls, X, y, scale * w), X)


def test_every_exemption_has_a_reason():
    assert all(len(reason) > 20 for reason in EXEMPT.values())
