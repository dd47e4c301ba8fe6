"""Values whose squares overflow or vanish: one sentence or an answer, at once."""

import inspect
import warnings

import numpy as np
import pytest
from sklearn.base import is_classifier
from sklearn.exceptions import ConvergenceWarning

from pansophy import linear_model, svm
from pansophy.linear_model import (
    Adaline,
    HuberRegressor,
    Lasso,
    LogisticRegression,
    SGDClassifier,
)

MODELS = [
    model
    for module in (linear_model, svm)
    for model in (getattr(module, name) for name in module.__all__)
    if inspect.isclass(model) and hasattr(model, "fit")
]
POSITIVE = (
    "PoissonRegressor",
    "GammaRegressor",
    "TweedieRegressor",
    "NegativeBinomialRegressor",
)


def cases():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(30, 3))
    y = X @ [1.0, 2.0, 3.0] + 0.1 * rng.normal(size=30)
    one = X.copy()
    one[3, 1] = 1e300
    yield one, y
    yield X * 1e160, y
    yield X, y * 1e300
    yield X * [1e-200, 1.0, 1e200], y
    yield X * 1e-300, y
    yield X, y * 1e-300


@pytest.mark.parametrize("model", MODELS, ids=lambda m: m.__name__)
def test_extreme_values_give_a_sentence_or_an_answer(model):
    for X, y in cases():
        estimator = model()
        name = model.__name__
        t = y
        if is_classifier(estimator):
            t = (y > 0).astype(int)
        elif name in POSITIVE:
            t = np.abs(y) + 1e-3
        elif name.startswith("MultiTask"):
            t = np.c_[y, y]
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            warnings.simplefilter("ignore", np.exceptions.RankWarning)
            try:
                predicted = estimator.fit(X, t).predict(X)
            except ValueError as error:
                text = str(error)
                assert "\n" not in text and text.endswith("."), text
                assert any(w in text for w in ("units", "consensus", "overflow")), text
                continue
        if not is_classifier(estimator):
            assert np.all(np.isfinite(predicted))


def test_the_column_is_named():
    X = np.eye(4)
    X[2, 1] = 1e200
    with pytest.raises(ValueError, match="column x1 of X holds values up to 1e\\+200"):
        linear_model.HuberRegressor().fit(X, np.arange(4.0))
    with pytest.raises(ValueError, match="y holds values up to 1e\\+200"):
        linear_model.Lasso().fit(np.eye(4), [0, 1e200, 0, 1])
    X[2, 1] = 1e30
    with pytest.raises(ValueError, match="float32"):
        linear_model.Ridge().fit(X.astype(np.float32), np.arange(4.0))
    X[2, 1] = np.nan
    with pytest.raises(ValueError, match="contains NaN"):
        linear_model.Ridge().fit(X, np.arange(4.0))


@pytest.mark.parametrize(
    "model",
    [
        LogisticRegression(warm_start=True),
        LogisticRegression(warm_start=True, solver="sag"),
        Lasso(alpha=0.01, warm_start=True),
        HuberRegressor(warm_start=True),
        SGDClassifier(warm_start=True, random_state=0),
        Adaline(warm_start=True),
    ],
    ids=repr,
)
def test_start_that_is_not_finite(model, rng):
    X = rng.normal(size=(30, 3))
    y = (X[:, 0] + 0.3 * rng.normal(size=30) > 0).astype(int)
    model.fit(X, y)
    model.coef_ = np.full_like(model.coef_, np.nan)
    with pytest.raises(ValueError, match=r"Floating-point .* are not finite"):
        model.fit(X, y)


@pytest.mark.parametrize("unit", [1e8, 1e20, 1e50, 1e150])
def test_long_columns_are_fitted_to_rounding(unit, rng):
    """No penalty is felt, and the gap is that of rounding, far above any tolerance."""
    X = rng.normal(size=(30, 3))
    y = X @ [1.0, 2.0, 3.0] + 0.1 * rng.normal(size=30)
    best = linear_model.LinearRegression().fit(X, y).predict(X)
    for model in (
        Lasso(1e-9),
        linear_model.ElasticNet(1e-9, l1_ratio=0.0),
        linear_model.MultiTaskElasticNet(1e-9, l1_ratio=0.0),
        linear_model.RegularizedRisk(alpha=1e-9),
    ):
        is_multi = isinstance(model, linear_model.MultiTaskElasticNet)
        found = model.fit(unit * X, y[:, None] if is_multi else y).predict(unit * X)
        assert model.n_iter_ <= 10
        np.testing.assert_allclose(found.ravel(), best, rtol=1e-6, atol=1e-6)
