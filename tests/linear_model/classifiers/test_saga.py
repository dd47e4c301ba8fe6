"""SAGA and SAG epochs against a plain oracle."""

import warnings

import numpy as np
import pytest
import scipy.sparse as sp
import sklearn.linear_model as peer
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.datasets import make_classification
from sklearn.exceptions import ConvergenceWarning

from pansophy.core.arrays._csr_arrays import CSRArrays
from pansophy.linear_model import LogisticRegression
from pansophy.linear_model.classifiers import _saga
from tests.oracles import saga as slow


@pytest.mark.parametrize("k", [1, 3])
@pytest.mark.parametrize("keep", [1.0, 1 / 25])
@pytest.mark.parametrize("strength", [(0.0, 1.0), (0.02, 1.0), (0.02, 0.9), (0.0, 0.9)])
@pytest.mark.parametrize("all_seen", [True, False])
def test_saga_epochs_match_the_oracle(k, keep, strength, all_seen, rng):
    if strength[0] and not all_seen:
        pytest.skip("SAG, which alone starts with no gradients, takes no L1 penalty")
    n, d = 25, 6
    X = rng.normal(size=(n, d)) * (rng.uniform(size=(n, d)) < 0.4)
    y, v = rng.integers(0, max(k, 2), size=n), rng.uniform(size=n) / n
    W, b, M = rng.normal(size=(k, d)), rng.normal(size=k), rng.normal(size=(n, k))
    A = np.column_stack([M.T @ X, M.sum(axis=0)]) / n
    order = rng.integers(n, size=4 * n)
    fresh = lambda W, A: [W.copy(), b.copy(), M.copy(), A.copy(), np.full(n, all_seen)]
    slow_state = fresh(W, A)
    rule = (0.1, keep, *strength, True)
    slow.epoch(X, y, v, order, *slow_state, *rule)

    def run(epoch, rows, W, A, *scratch):
        state = fresh(W, A)
        table = _saga.GradientTable(*state[2:], np.array([n if all_seen else 0]))
        epoch(rows, y, v, order, *state[:2], table, *scratch, _saga.SAGAStep(*rule))
        return state

    dense = run(_saga.dense_saga_epoch, X, W, A)
    S = sp.csr_matrix(X)
    csr = CSRArrays(S.data, S.indices.view("u4"), S.indptr.view("u4"))
    by_columns = [np.array(a.T, order="C") for a in (W, A)]
    last = np.zeros(d, np.int64)
    sparse = run(_saga.sparse_saga_epoch, csr, *by_columns, last)
    sparse[0], sparse[3] = sparse[0].T, sparse[3].T
    for found in (dense, sparse):
        for a, expected in zip(found, slow_state, strict=True):
            np.testing.assert_allclose(a, expected, rtol=1e-8, atol=1e-10)


@given(
    st.floats(-2, 2),
    st.floats(-0.5, 0.5),
    st.floats(0, 0.4),
    st.integers(0, 40),
    st.sampled_from([1.0, 0.99, 0.7]),
)
@settings(max_examples=200, deadline=None)
def test_many_steps_at_once(w, c, t, m, q):
    assert _saga.catch_up(w, c, t, q, m) == pytest.approx(
        slow.lag(w, c, t, q, m), abs=1e-9
    )


@pytest.mark.filterwarnings("ignore:.*did not converge")
@pytest.mark.parametrize("solver", ["sag", "saga"])
@pytest.mark.parametrize("classes", [2, 4])
@pytest.mark.parametrize("make", [np.asarray, sp.csr_matrix])
def test_sag_and_saga_are_as_good_per_pass_as_scikit_learn(solver, classes, make):
    X, y = make_classification(
        300, 12, n_informative=6, n_classes=classes, random_state=0
    )
    best = peer.LogisticRegression(solver="newton-cholesky", tol=1e-10).fit(X, y)
    far = lambda model: np.log(np.abs(model.coef_ - best.coef_).max())
    ours = []
    theirs = []
    for seed in range(6):
        options = {"solver": solver, "max_iter": 30, "tol": 0.0, "random_state": seed}
        ours.append(far(LogisticRegression(**options).fit(make(X), y)))
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            theirs.append(far(peer.LogisticRegression(**options).fit(X, y)))
    assert np.mean(ours) <= np.mean(theirs) + np.log(2)


def test_saga_is_as_near_the_optimum_per_pass_as_the_peer():
    """Error after five passes, median of five orders of rows: it was 2.6 times."""
    X, y = make_classification(1000, 20, n_informative=8, random_state=0)
    X = (X - X.mean(axis=0)) / X.std(axis=0)
    exact = LogisticRegression(tol=1e-12, max_iter=1000).fit(X, y).coef_

    def error(kind):
        options = {"solver": "saga", "max_iter": 5, "tol": 0.0}
        made = [kind(random_state=s, **options).fit(X, y).coef_ for s in range(5)]
        return np.median([np.linalg.norm(coef - exact) for coef in made])

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        assert error(LogisticRegression) < 1.7 * error(peer.LogisticRegression)
