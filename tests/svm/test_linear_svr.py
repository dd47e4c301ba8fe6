"""Linear support vector regression: scikit-learn, tubes, weights, solvers."""

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn import svm as peer

from pansophy.svm import LinearSVR
from tests.oracles import svm as oracle

LOSSES = ["epsilon_insensitive", "squared_epsilon_insensitive"]


def problem(n=150, d=5, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d))
    return X, X @ rng.normal(size=d) + 0.5 + 0.3 * rng.standard_t(3, size=n)


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("epsilon", [0.0, 0.3])
@pytest.mark.parametrize("fit_intercept", [True, False])
def test_as_scikit_learn(loss, epsilon, fit_intercept):
    X, y = problem()
    w = np.random.default_rng(1).integers(0, 3, size=len(y)).astype(float)
    how = {"loss": loss, "epsilon": epsilon, "fit_intercept": fit_intercept}
    how |= {"C": 0.05, "intercept_scaling": 2.0, "random_state": 0}
    theirs = peer.LinearSVR(**how, dual=True, tol=1e-9, max_iter=10**6)
    theirs.fit(X, y, sample_weight=w)
    for rows in (X, sp.csr_matrix(X)):
        for solver in (True, False, "auto"):
            fine, near = (1e-5, 1e-3) if solver is True else (1e-8, 1e-5)
            ours = LinearSVR(**how, dual=solver, tol=fine, max_iter=10**5)
            ours.fit(rows, y, sample_weight=w)
            np.testing.assert_allclose(ours.coef_, theirs.coef_, atol=near)
            np.testing.assert_allclose(ours.intercept_, theirs.intercept_, atol=near)
            assert ours.dual_gap_ < 1e-2


@pytest.mark.parametrize("loss", LOSSES)
def test_no_higher_than_scikit_learn(loss):
    """At a cost where liblinear is slow to settle."""
    X, y = problem()
    how = {"loss": loss, "epsilon": 0.1, "C": 0.7}
    theirs = peer.LinearSVR(**how, dual=True, tol=1e-6, max_iter=10**6, random_state=0)
    theirs.fit(X, y)
    ours = LinearSVR(**how, tol=1e-8).fit(X, y)
    squared = loss.startswith("squared")
    at = lambda m: oracle.objective(
        *(X, y, m.coef_, m.intercept_[0], np.full(len(y), 0.7)),
        squared=squared,
        epsilon=0.1,
    )
    assert at(ours) <= at(theirs) * (1 + 1e-12)
    np.testing.assert_allclose(ours.coef_, theirs.coef_, atol=1e-4)


@pytest.mark.parametrize("loss", LOSSES)
def test_weights_are_repetitions(loss):
    X, y = problem(60)
    w = np.random.default_rng(1).integers(0, 3, size=len(y))
    one = LinearSVR(loss=loss, epsilon=0.1).fit(X, y, sample_weight=w)
    two = LinearSVR(loss=loss, epsilon=0.1).fit(
        np.repeat(X, w, axis=0), np.repeat(y, w)
    )
    np.testing.assert_allclose(one.coef_, two.coef_, rtol=1e-6)


def test_gap_bounds_the_objective():
    X, y = problem()
    rough = LinearSVR(epsilon=0.1, dual=True, tol=0.1).fit(X, y)
    fine = LinearSVR(epsilon=0.1, tol=1e-9).fit(X, y)
    at = lambda m: oracle.objective(
        X, y, m.coef_, m.intercept_[0], np.ones(len(y)), epsilon=0.1
    )
    assert 0 <= at(rough) - at(fine) <= rough.dual_gap_ * (1 + 1e-9) + 1e-9
    assert rough.history_["objective"][-1] <= at(rough) + 1e-9


def test_float32_and_torch():
    X, y = problem()
    want = LinearSVR(epsilon=0.1).fit(X, y)
    got = LinearSVR(epsilon=0.1).fit(X.astype(np.float32), y)
    assert got.coef_.dtype == np.float32
    np.testing.assert_allclose(got.coef_, want.coef_, atol=2e-3)
    torch = pytest.importorskip("torch")
    got = LinearSVR(epsilon=0.1).fit(torch.asarray(X), torch.asarray(y))
    np.testing.assert_allclose(got.coef_.numpy(), want.coef_, atol=1e-6)


@pytest.mark.parametrize("C", [1e-7, 1e-4, 1e-3])
def test_costs_so_small_that_every_row_is_decided(C):
    """All rows are outside the tube: w = C sum of signs times rows."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(200, 3))
    y = np.tanh(X[:, 0]) + 3.0 * np.sign(rng.normal(size=200))
    model = LinearSVR(C=C, epsilon=0.1, fit_intercept=False, tol=1e-10).fit(X, y)
    np.testing.assert_allclose(model.coef_, C * np.sign(y) @ X, rtol=1e-6, atol=1e-12)
