"""Sequential minimal optimisation of the SVM dual."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pansophy.optim import quadratic_program, smo
from pansophy.optim.smo import RowCache
from tests.oracles import svm as oracle

X5 = np.array([-2.0, -1, 1, 2, -1.5])


Y5 = np.array([-1.0, -1, 1, 1, 1])


def machine(n, seed):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 3))
    y = np.where(X[:, 0] * X[:, 1] + 0.3 * rng.normal(size=n) > 0, 1.0, -1.0)
    y[:2] = 1.0, -1.0
    off = X[:, None] - X[None]
    return np.exp(-0.5 * (off**2).sum(axis=2)), y


@pytest.mark.parametrize(
    ("C", "a", "w", "bias"),
    [
        (1.0, [0.388889, 1, 0.388889, 0, 1], 2 / 3, 1 / 3),
        (10.0, [1.888889, 10, 1.888889, 0, 10], 2 / 3, 1 / 3),
        (0.1, [0.1, 0.1, 0.1, 0, 0.1], 0.25, 0.625),  # any bias from .5 to .75
    ],
)
def test_worked_machine(C, a, w, bias):
    run = smo(np.outer(X5, X5), Y5, C, tol=1e-12)
    np.testing.assert_allclose(run.state.position, a, atol=1e-6)
    assert (run.state.position * Y5) @ X5 == pytest.approx(w)
    assert run.state.bias(Y5, C) == pytest.approx(bias)
    Q = np.outer(X5 * Y5, X5 * Y5)
    same = quadratic_program(Q, -np.ones(5), A=Y5, b=[0.0], lower=0.0, upper=C)
    np.testing.assert_allclose(same.state.position, a, atol=1e-6)
    assert same.objective == pytest.approx(run.objective, abs=1e-9)


@settings(max_examples=15, deadline=None)
@given(st.integers(0, 10_000), st.sampled_from([0.3, 1.0, 20.0]))
def test_smo_agrees_with_the_general_programme(seed, C):
    K, y = machine(25, seed)
    run = smo(K, y, C, tol=1e-10, working=8, max_iter=2000)
    same = quadratic_program(
        K * np.outer(y, y), -np.ones(25), A=y, b=[0.0], lower=0.0, upper=C
    )
    assert run.converged and same.converged
    assert run.objective == pytest.approx(same.objective, abs=1e-7)
    assert run.objective == pytest.approx(oracle.smo_dual(K, y, run.state.position))
    assert abs(run.state.position @ y) < 1e-9
    assert (np.diff(run.history["objective"]) <= 1e-12).all()


def test_smo_from_rows_on_demand():
    K, y = machine(300, 0)
    seen = []
    rows = lambda index: seen.append(len(index)) or K[index]
    whole = smo(K, y, 1.0, tol=1e-6, working=32)
    parts = smo(rows, y, 1.0, tol=1e-6, working=32)
    assert (whole.state.position == parts.state.position).all()
    assert max(seen) <= 32
    assert sum(seen) <= 300  # each row once: the cache holds them all
    small = RowCache(lambda index: K[index], limit=40 * 300 * 8)
    again = smo(small, y, 1.0, tol=1e-6, working=32)
    assert (whole.state.position == again.state.position).all()
    assert len(small.kept) <= 40
    ahead = smo(K, y, 1.0, tol=1e-6, working=32, max_iter=3)
    on = smo(K, y, 1.0, tol=1e-6, working=32, start=ahead.state)
    assert on.objective == pytest.approx(whole.objective, abs=1e-6)


def test_smo_as_scikit_learn():
    from sklearn.svm import SVC

    K, y = machine(300, 1)
    C = np.where(y > 0, 2.0, 0.5)
    run = smo(K, y, C, tol=1e-8)
    theirs = SVC(kernel="precomputed", tol=1e-8, class_weight={1: 2.0, -1: 0.5})
    theirs.fit(K, y)
    f = K @ (run.state.position * y) + run.state.bias(y, C)
    np.testing.assert_allclose(f, theirs.decision_function(K), atol=1e-6)


def test_smo_refuses_other_labels():
    with pytest.raises(ValueError, match=r"\+1 and -1"):
        smo(np.eye(3), [0, 1, 1])
