"""Learning in chunks: `partial_fit` over parts of the rows equals one `fit` to all.

It holds for models whose statistics are sums over rows: counts, moments and normal
equations. Models trained by gradient steps (perceptrons, SGD) see the rows in another
order, and are not meant.
"""

from itertools import pairwise

import numpy as np
import pytest

from pansophy.linear_model import BayesianLinearRegression, RecursiveLeastSquares
from pansophy.naive_bayes import (
    BernoulliNB,
    CategoricalNB,
    ComplementNB,
    GaussianNB,
    MixedNB,
    MultinomialNB,
    NaiveBayes,
)

CLASSIFIERS = {
    GaussianNB: ("theta_", "var_", "class_prior_"),
    BernoulliNB: ("feature_count_", "feature_log_prob_", "class_log_prior_"),
    MultinomialNB: ("feature_count_", "feature_log_prob_", "class_log_prior_"),
    ComplementNB: ("feature_count_", "feature_all_", "feature_log_prob_"),
    CategoricalNB: ("class_log_prior_",),
    MixedNB: ("class_log_prior_",),
    NaiveBayes: ("class_log_prior_",),
}


def table(n=120, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.integers(0, 4, size=(n, 5)).astype(float)
    X[:4] = np.arange(4)[:, None]  # the first chunk shows every category
    y = (X[:, 0] + X[:, 1] + rng.integers(0, 3, n) > 4).astype(int)
    return X, y, rng.integers(1, 4, n).astype(float)


CUTS = {
    "two": [0, 50, 120],
    "uneven": [0, 7, 8, 60, 61, 119, 120],
    "row by row": list(range(121)),
}


@pytest.mark.parametrize("cuts", CUTS.values(), ids=CUTS)
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("cls", CLASSIFIERS)
def test_classifiers_of_counts_and_moments(cls, weighted, cuts):
    X, y, w = table()
    v = w if weighted else None
    families = ["gaussian", "poisson", "categorical", "categorical", "gaussian"]
    make = (lambda: MixedNB(families)) if cls is MixedNB else cls
    whole = make().fit(X, y, sample_weight=v)
    chunks = make()
    for a, b in pairwise(cuts):
        part = None if v is None else v[a:b]
        chunks.partial_fit(X[a:b], y[a:b], classes=[0, 1], sample_weight=part)
    exact = {"rtol": 1e-12, "atol": 1e-12}
    for name in CLASSIFIERS[cls]:
        np.testing.assert_allclose(getattr(chunks, name), getattr(whole, name), **exact)
    np.testing.assert_allclose(
        chunks.predict_log_proba(X), whole.predict_log_proba(X), rtol=1e-10, atol=1e-12
    )


@pytest.mark.parametrize("cls", [GaussianNB, BernoulliNB, CategoricalNB])
def test_a_class_that_comes_late_is_the_same_model(cls):
    X, y, _ = table()
    order = np.argsort(y, kind="stable")
    order = np.concatenate([[0, 1, 2, 3], order[~np.isin(order, [0, 1, 2, 3])]])
    X, y = X[order], y[order]
    whole = cls().fit(X, y)
    chunks = cls()
    for a in range(0, len(X), 30):
        chunks.partial_fit(X[a : a + 30], y[a : a + 30], classes=[0, 1])
    np.testing.assert_allclose(
        chunks.predict_log_proba(X), whole.predict_log_proba(X), rtol=1e-10, atol=1e-12
    )


@pytest.mark.parametrize("cuts", CUTS.values(), ids=CUTS)
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("cls", [RecursiveLeastSquares, BayesianLinearRegression])
def test_regressors_of_normal_equations(cls, weighted, cuts):
    X, _, w = table()
    t = X @ np.array([1.0, -2.0, 0.5, 0.0, 3.0]) + np.sin(np.arange(len(X)))
    v = w if weighted else None
    whole = cls().fit(X, t, sample_weight=v)
    chunks = cls()
    for a, b in pairwise(cuts):
        chunks.partial_fit(X[a:b], t[a:b], sample_weight=None if v is None else v[a:b])
    np.testing.assert_allclose(chunks.coef_, whole.coef_, rtol=1e-10, atol=1e-10)
    np.testing.assert_allclose(chunks.predict(X), whole.predict(X), rtol=1e-10)
