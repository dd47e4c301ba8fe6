"""Weights equal repeated rows, for every estimator that takes `sample_weight`.

A row of weight k is k equal rows, a row of weight 0 is no row, and two copies of a row
with weight 1/2 are that row: exactly so in every deterministic method, whatever the
class weights.
"""

import inspect

import numpy as np
import pytest
from sklearn.utils.validation import has_fit_parameter

from pansophy.linear_model import Ridge
from pansophy.testing import (
    all_estimators,
    expected_failures,
    quick_instance,
    role_names,
)

WHOLE = {"CategoricalNB", "JointTableClassifier", "TreeAugmentedNB", "LabelModel"}
EQUIVALENCE = "check_sample_weight_equivalence_on_dense_data"

# estimators whose weights are not repetitions, with the reason
EXEMPT = {
    name: reason
    for name, cls in all_estimators()
    if name not in WHOLE
    and (reason := expected_failures(cls()).get(EQUIVALENCE))
    and "singular covariance" not in reason
}

EXEMPT |= dict.fromkeys(
    ("ConditionalVAE", "TableVAE", "VQVAE"),
    "codes or codebooks are drawn by rows: repetitions in expectation only",
)
EXEMPT |= dict.fromkeys(
    ("AttackGenerator", "GAN", "InfoGAN", "WGAN"),
    "batches and noise are drawn by rows: repetitions in expectation only",
)

# estimators whose fit is the same for w and 10 w: no penalty, prior or weight limit
SCALE_FREE = {
    "DecisionTreeClassifier", "DecisionTreeRegressor", "ExtraTreeClassifier",
    "ExtraTreeRegressor", "ExtraTreesClassifier", "ExtraTreesRegressor",
    "GaussianNB", "GradientBoostingClassifier", "GradientBoostingRegressor", "KMeans",
    "KMedians", "LinearDiscriminantAnalysis", "LinearRegression",
    "QuadraticDiscriminantAnalysis", "QuantileRegressor", "GaussianMixture",
}  # fmt: skip

EXEMPT |= dict.fromkeys(
    ("DDPM", "DiffusionModel", "EnergyModel", "LatentDiffusion", "ScoreModel"),
    "noise is drawn for each row: repetitions in expectation only",
)

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


# parameters under which weights can show: shallow trees, no limit on numbers of rows
PARAMS = {"max_depth": 2, "min_samples_leaf": 1, "random_state": 0}

# a row is left out of the fit that judges it, its copies are not
LEFT_OUT = {"PolynomialRegression"}
PARAMS_OF = {"StackingRegressor": {"final_estimator": Ridge()}}  # not RidgeCV, likewise


def make_data(name, cls, n=36, seed=0):
    """Rows X, targets y (or None) and whole weights with zeros among them."""
    rng = np.random.default_rng(seed)
    X = rng.integers(0, 3, (n, 3)).astype(float)
    if name not in WHOLE:
        X += rng.random((n, 3)).round(3)
    y, roles = None, role_names(cls)
    if "classifier" in roles:
        codes = np.r_[[0, 1, 2] * 2, rng.choice(3, n - 6, p=[0.6, 0.3, 0.1])]
        y = np.array(["a", "b", "c"])[codes]
    elif "regressor" in roles or "transformer" in roles:
        y = (X @ [1.0, 0.5, 2.0] + rng.random(n)).round(3)
    if name.startswith("MultiTask"):
        y = np.stack([y, -y + X[:, 0]], axis=1)
    w = rng.integers(0, 4, n).astype(float)
    w[:6] = [1, 2, 3, 3, 2, 1]  # every class has weight
    return X, y, w


def fitted(cls, X, y, w, index=None, **params):
    """A model of the rows X[index]; copies of a row are in the same fold."""
    index = np.arange(len(X)) if index is None else index
    model = quick_instance(cls)
    names = model.get_params(deep=False)
    params |= {k: v for k, v in PARAMS.items() if k in names and k not in params}
    params |= PARAMS_OF.get(cls.__name__, {})
    if "cv" in names:
        folds = np.random.default_rng(1).permutation(len(X))[index] % 3
        splits = [
            (np.flatnonzero(folds != k), np.flatnonzero(folds == k)) for k in range(3)
        ]
        params["cv"] = splits
    model.set_params(**params)
    return model.fit(X[index], None if y is None else y[index], sample_weight=w)


def outputs(model, X, rows):
    """The predictions of a model by method, or the labels of its training rows."""
    found = {}
    methods = "predict_proba decision_function predict transform score_samples"
    for method in methods.split():
        call = getattr(model, method, None)
        if call is None:
            continue
        out = call(X)
        out = out.toarray() if hasattr(out, "toarray") else np.asarray(out)
        if out.dtype.kind in "fiu":
            found[method] = out
        elif method == "predict":
            found[method] = (out[:, None] == out[None, :]).astype(float)
    if not found and hasattr(model, "labels_"):
        found["labels_"] = model.labels_[rows]
    return found


def assert_same(one, two, X, rows=(slice(None), slice(None))):
    """Equal predictions of two models; `rows` are the same rows in their data."""
    a, b = outputs(one, X, rows[0]), outputs(two, X, rows[1])
    assert set(a) == set(b)
    assert a, "nothing to compare"
    for method, value in a.items():
        atol = 1e-6 * max(1.0, float(np.abs(value).max(initial=0)))
        np.testing.assert_allclose(
            value, b[method], rtol=1e-5, atol=atol, err_msg=method
        )


def first_places(index):
    """The rows that are in an index, and the first place of each."""
    return np.unique(index, return_index=True)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(("name", "cls"), WEIGHTED)
def test_whole_weights_are_repeated_rows(name, cls):
    X, y, w = make_data(name, cls)
    index = np.repeat(np.arange(len(X)), w.astype(int))
    one, repeated = fitted(cls, X, y, w), fitted(cls, X, y, None, index)
    assert_same(one, repeated, X, first_places(index))


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(("name", "cls"), WEIGHTED)
def test_two_halves_are_a_row(name, cls):
    if name in LEFT_OUT:
        pytest.skip("a row is left out of the fit that judges it, its copy is not")
    X, y, _ = make_data(name, cls)
    index = np.repeat(np.arange(len(X)), 2)
    halves = np.full(len(index), 0.5)
    one, two = fitted(cls, X, y, np.ones(len(X))), fitted(cls, X, y, halves, index)
    assert_same(one, two, X, first_places(index))


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(("name", "cls"), WEIGHTED)
def test_rows_of_weight_0_are_no_rows(name, cls):
    X, y, w = make_data(name, cls)
    kept = np.flatnonzero(w)
    wild = X.copy()
    wild[w == 0] = 2.0 if name in WHOLE else 40.0
    one, without = fitted(cls, wild, y, w), fitted(cls, X, y, w[kept], kept)
    assert_same(one, without, X[kept], first_places(kept))


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(("name", "cls"), BALANCED)
@pytest.mark.parametrize("rule", ["balanced", "dict"])
def test_class_weights_count_by_weight(name, cls, rule):
    X, y, w = make_data(name, cls)
    rule = {"a": 0.5, "b": 2.0, "c": 3.0} if rule == "dict" else rule
    index = np.repeat(np.arange(len(X)), w.astype(int))
    one = fitted(cls, X, y, w, class_weight=rule)
    assert_same(one, fitted(cls, X, y, None, index, class_weight=rule), X)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(
    ("name", "cls"), [p for p in WEIGHTED if p.values[0] in SCALE_FREE]
)
@pytest.mark.parametrize("scale", [10.0, 0.1])
def test_the_scale_of_weights_does_not_matter(name, cls, scale):
    X, y, w = make_data(name, cls)
    kept = np.flatnonzero(w)
    w = w[kept]
    one, other = fitted(cls, X, y, w, kept), fitted(cls, X, y, scale * w, kept)
    assert_same(one, other, X)


def test_every_exemption_has_a_reason():
    assert all(len(reason) > 20 for reason in EXEMPT.values())
