"""Gap-safe screening."""

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st

from pansophy import penalties
from pansophy.linear_model import Lasso, enet_path
from pansophy.optim.nonsmooth import screening
from pansophy.optim.nonsmooth.centered_design import Design
from pansophy.optim.nonsmooth.working_set import GramStore, rounds, start
from tests.optim.small_problems import weighted_problem

FORMS = {"C": np.ascontiguousarray, "F": np.asfortranarray, "csc": sp.csc_matrix}


def optimum(X, y, p, penalty, centre):
    """A tight solution by many plain passes over centred, weighted columns."""
    A, z = (X - p @ X, y - p @ y) if centre else (X, y)
    root = np.sqrt(p)
    G, h = (A * root[:, None]).T @ (A * root[:, None]), A.T @ (p * z)
    w, curve = np.zeros(X.shape[1]), np.diag(G)
    for _ in range(3000):
        before = w.copy()
        for j in np.flatnonzero(curve > 0):
            step = 1 / curve[j]
            w[j] = penalty.prox(w[j] + step * (h[j] - G[j] @ w), step)
        if np.abs(w - before).max() < 1e-13:
            break
    return w, np.abs(h - G @ w - penalty.b * w), root * z


@given(
    seed=st.integers(0, 10_000),
    form=st.sampled_from(sorted(FORMS)),
    positive=st.booleans(),
    centre=st.booleans(),
    ratio=st.sampled_from([1.0, 0.5]),
    share=st.sampled_from([0.7, 0.3, 0.1]),
)
@settings(max_examples=40, deadline=None)
def test_screened_columns_are_zero_at_the_optimum(
    seed, form, positive, centre, ratio, share
):
    X, y, p = weighted_problem(seed, 25, 40, shift=1.0)
    p = p / p.sum()
    A, z = (X - p @ X, y - p @ y) if centre else (X, y)
    top = np.abs(A.T @ (p * z)).max()
    penalty = penalties.elastic_net(share * top / ratio, ratio, positive)
    best, size, target = optimum(X, y, p, penalty, centre)
    store = GramStore(Design(FORMS[form](X), p, centre=centre), target)
    store.screen.pays, store.screen.n_rounds = (
        True,
        screening.WAIT,
    )  # lengths from the first round on
    state = start(store, np.zeros(40), penalty)
    store.screen.r, store.screen.c = target, store.Xy
    step, tol, counts = rounds(store, penalty, 1e-10, near=0.0), 1e-10, []
    for _ in range(20):
        state = step(state)
        out = np.setdiff1d(np.arange(40), state.kept)
        assert np.all(best[out] == 0)
        counts.append(state.n_screened)
        if state.gap <= tol:
            break
    assert state.gap <= tol
    assert counts == sorted(counts)
    np.testing.assert_allclose(state.w, best, atol=1e-5)
    if not positive:  # at a tight gap all that is not at the edge is out
        assert np.all(size[state.kept] >= 0.99 * penalty.a)


@pytest.mark.parametrize("form", sorted(FORMS))
@pytest.mark.parametrize("positive", [False, True])
@pytest.mark.parametrize("ratio", [1.0, 0.5])
def test_paths_are_the_same_without(form, positive, ratio, monkeypatch):
    X, y, _ = weighted_problem(1, 60, 1200)
    X, y = FORMS[form](X), y - y.mean()
    how = {"alphas": 40, "eps": 1e-2, "l1_ratio": ratio, "positive": positive}
    used, some = [], Design.correlate_some
    record = lambda self, r, index: used.append(len(index)) or some(self, r, index)
    monkeypatch.setattr(Design, "correlate_some", record)
    alphas, coefs, gaps = enet_path(X, y, **how, tol=1e-8)
    assert len(used) > 5
    assert max(used) <= 600
    monkeypatch.setattr(screening, "WAIT", 10**9)
    _, plain, _ = enet_path(X, y, **how, tol=1e-8)
    np.testing.assert_allclose(coefs, plain, atol=1e-4 * np.abs(plain).max())
    A = X.toarray() if form == "csc" else X
    for alpha, w, gap in zip(alphas, coefs.T, gaps, strict=True):
        a, b = alpha * ratio, alpha * (1 - ratio)
        r = y - A @ w
        c = A.T @ r / 60 - b * w
        s = min(1.0, a / (c if positive else np.abs(c)).max())
        square = r @ r / 60 + b * (w @ w)
        P = square / 2 + a * np.abs(w).sum()
        true = P - s * (y @ r) / 60 + s * s / 2 * square
        assert abs(true - gap) < 1e-12 * (y @ y)  # vouched for on all columns


def test_history_counts_them():
    X, y, _ = weighted_problem(2, 200, 3000)
    fit = Lasso(alpha=0.05, tol=1e-9).fit(X, y)
    counts = fit.history_["n_screened"]
    assert len(counts) == fit.n_iter_
    assert np.all(np.diff(counts) >= 0)
    assert fit.n_iter_ > screening.WAIT
    assert counts[-1] > 2000


def test_float32_is_safe_too():
    X, y, _ = weighted_problem(4, 50, 800)
    X32, y32 = np.asfortranarray(X.astype(np.float32)), y.astype(np.float32)
    alphas, coefs, _ = enet_path(X32, y32, l1_ratio=1.0, alphas=30, eps=0.05)
    _, exact, _ = enet_path(X, y, l1_ratio=1.0, alphas=alphas, tol=1e-10)
    assert coefs.dtype == np.float32
    np.testing.assert_allclose(coefs, exact, atol=2e-2 * np.abs(exact).max())
