"""Finite sets of hypotheses: MAP and Bayes optimal, consistency, refusals."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.naive_bayes import GaussianNB

from pansophy.distributions import Bernoulli, HypothesisSet, bayes_optimal

quick = settings(max_examples=25, deadline=None)
VOTES = [
    lambda X: np.full(len(X), "+"),
    lambda X: np.full(len(X), "-"),
    lambda X: np.full(len(X), "-"),
]
X1 = np.zeros((1, 1))


def test_bayes_optimal_can_disagree_with_the_map():
    rules = HypothesisSet(VOTES, prior=[0.4, 0.3, 0.3])
    assert rules.predict_map(X1) == ["+"]
    np.testing.assert_allclose(rules.predict_proba(X1), [[0.4, 0.6]])
    assert rules.classes_.tolist() == ["+", "-"]
    assert rules.predict(X1) == ["-"]
    np.testing.assert_allclose(bayes_optimal([1.0, 0, 0], rules.votes(X1)), [[1, 0]])


def thresholds():
    return [lambda X, t=t: (X[:, 0] > t).astype(int) for t in range(5)]


def test_consistent_iff_no_training_error():
    X, y = np.array([[0.5], [1.5], [2.5], [4.5]]), np.array([0, 0, 1, 1])
    rules = HypothesisSet(thresholds()).fit(X, y)
    np.testing.assert_array_equal(rules.consistent(X, y), rules.errors(X, y) == 0)
    assert rules.consistent(X, y).tolist() == [False, False, True, False, False]
    np.testing.assert_allclose(rules.posterior_, [0, 0, 1, 0, 0])
    with pytest.raises(ValueError, match="impossible under every hypothesis"):
        HypothesisSet(thresholds()).fit(X, 1 - y)
    noisy = HypothesisSet(thresholds(), noise=0.1).fit(X, 1 - y)
    np.testing.assert_allclose(noisy.posterior_.sum(), 1)


@quick
@given(st.integers(0, 10**6))
def test_posteriors_in_parts_and_uniform_priors(seed):
    rng = np.random.default_rng(seed)
    X = rng.uniform(0, 5, (12, 1))
    y = ((X[:, 0] > 2) ^ (rng.random(12) < 0.2)).astype(int)
    prior = rng.dirichlet(np.ones(5))
    whole = HypothesisSet(thresholds(), prior=prior, noise=0.2).fit(X, y)
    parts = HypothesisSet(thresholds(), prior=prior, noise=0.2)
    parts.partial_fit(X[:5], y[:5]).partial_fit(X[5:], y[5:])
    np.testing.assert_allclose(whole.posterior_, parts.posterior_, rtol=1e-9)
    np.testing.assert_allclose(whole.predict_proba(X).sum(axis=1), 1)
    flat = HypothesisSet(thresholds(), noise=0.2).fit(X, y)
    assert flat.map_ == flat.ml_ == whole.ml_


def test_hypotheses_of_every_kind(rng):
    coins = HypothesisSet([Bernoulli(0.5), Bernoulli(0.9)]).fit(np.ones((4, 1)))
    np.testing.assert_allclose(coins.posterior_[1], 0.9**4 / (0.9**4 + 0.5**4))
    with pytest.raises(TypeError, match="predicts no labels"):
        coins.predict(X1)
    X = rng.standard_normal((60, 2))
    y = (X[:, 0] > 0).astype(int)
    good = GaussianNB().fit(X, y)
    bad = GaussianNB().fit(X, rng.permutation(y))
    both = HypothesisSet([bad, good]).fit(X, y)
    assert both.map_ == 1 and "2 hypotheses" in repr(both)
    np.testing.assert_allclose(
        both.predict_proba(X),
        np.tensordot(
            both.posterior_, [bad.predict_proba(X), good.predict_proba(X)], axes=1
        ),
    )
    assert (both.predict_ml(X) == good.predict(X)).all()


def test_hypotheses_refusals():
    with pytest.raises(ValueError, match="at least one"):
        HypothesisSet([])
    with pytest.raises(ValueError, match="noise"):
        HypothesisSet(VOTES, noise=1.0)
    with pytest.raises(ValueError, match="prior must sum"):
        HypothesisSet(VOTES, prior=[0.4, 0.3, 0.2])
    with pytest.raises(ValueError, match="need y"):
        HypothesisSet(VOTES).fit(X1)
    with pytest.raises(ValueError, match="1 rows, but y has 2"):
        HypothesisSet(VOTES).fit(X1, ["+", "-"])
    with pytest.raises(ValueError, match="labels of shape"):
        HypothesisSet([lambda X: "+"]).predict(X1)
