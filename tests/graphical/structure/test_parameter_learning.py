"""Tables by counts, by gradient and by EM."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pansophy.core.numerics import softmax
from pansophy.graphical import (
    BayesianNetwork,
    fit_tables,
    fit_tables_em,
    fit_tables_gradient,
)
from tests.oracles import network_learning as oracle

ROWS = np.array([[0, 0], [0, 1], [1, 0], [1, 1], [1, 0], [0, 1], [0, 0]])
PARENTS, SIZES = [(), (0,), (0,), (1, 2), (3,)], (2, 3, 2, 2, 3)


def holed(seed, n=120, share=0.3):
    rng = np.random.default_rng(seed)
    X = np.column_stack([rng.integers(0, m, n) for m in SIZES])
    X[rng.random(X.shape) < share] = -1
    return X


def test_worked_counts_and_priors():
    X, Y = fit_tables(ROWS, [(), (0,)], (2, 2))
    np.testing.assert_allclose(X, [4 / 7, 3 / 7])
    np.testing.assert_allclose(Y, [[1 / 2, 1 / 2], [2 / 3, 1 / 3]])
    Y = fit_tables(ROWS, [(), (0,)], (2, 2), prior="laplace")[1]
    np.testing.assert_allclose(Y, [[3 / 6, 3 / 6], [3 / 5, 2 / 5]])
    Y = fit_tables(ROWS, [(), (0,)], (2, 2), prior="bdeu", equivalent_size=4)[1]
    np.testing.assert_allclose(Y, [[3 / 6, 3 / 6], [3 / 5, 2 / 5]])
    Y = fit_tables(ROWS, [(), (0,)], (2, 2), prior=0.5)[1]
    np.testing.assert_allclose(Y[1], [2.5 / 4, 1.5 / 4])
    unseen = fit_tables(ROWS[:2], [(), (0,)], (2, 2))[1]
    np.testing.assert_allclose(unseen[1], [0.5, 0.5])


def test_weights_are_repetitions():
    w = np.arange(7) % 3
    a = fit_tables(ROWS, [(), (0,)], (2, 2), weights=w)
    b = fit_tables(np.repeat(ROWS, w, axis=0), [(), (0,)], (2, 2))
    for s, t in zip(a, b, strict=True):
        np.testing.assert_array_equal(s, t)


def test_gradient_on_softmax_rows_converges_to_counts():
    result = fit_tables_gradient(ROWS, [(), (0,)], (2, 2), tol=1e-16)
    tables = [softmax(h, axis=-1) for h in result.state.logits]
    for s, t in zip(tables, fit_tables(ROWS, [(), (0,)], (2, 2)), strict=True):
        np.testing.assert_allclose(s, t, atol=1e-7)
    assert np.all(np.diff(result.history["objective"]) <= 1e-15)
    assert result.objective * 14 == pytest.approx(9.4624880, abs=1e-7)


@given(st.integers(0, 10**6), st.sampled_from([None, "k2", "bdeu"]), st.booleans())
@settings(max_examples=8)
def test_em_never_falls_and_expects_what_enumeration_does(seed, prior, hidden):
    X = holed(seed, n=60)
    if hidden:
        X[:, 3] = -1
    result = fit_tables_em(
        X, PARENTS, SIZES, prior=prior, max_iter=15, tol=0, random_state=seed
    )
    assert np.all(np.diff(result.history["objective"]) <= 1e-10)
    N, loglik = oracle.expected_counts(X, PARENTS, SIZES, result.state.params)
    for s, t in zip(result.state.stats, N, strict=True):
        np.testing.assert_allclose(s, t, atol=1e-10)
    if prior is None:
        assert -result.objective * len(X) == pytest.approx(loglik)
    assert all(np.isfinite(t).all() for t in result.state.params)


def test_em_with_weights_and_with_complete_rows():
    X, w = holed(0), np.random.default_rng(1).integers(0, 4, 120)
    a = fit_tables_em(X, PARENTS, SIZES, weights=w, random_state=0, max_iter=10)
    b = fit_tables_em(
        np.repeat(X, w, axis=0), PARENTS, SIZES, random_state=0, max_iter=10
    )
    for s, t in zip(a.state.params, b.state.params, strict=True):
        np.testing.assert_allclose(s, t, atol=1e-12)
    whole = holed(0, share=0.0)
    found = fit_tables_em(whole, PARENTS, SIZES).state.params
    for s, t in zip(found, fit_tables(whole, PARENTS, SIZES), strict=True):
        np.testing.assert_allclose(s, t)


def test_em_finds_a_hidden_class():
    """A mixture of two coins, as a network with a node that is never seen."""
    rng = np.random.default_rng(0)
    z = rng.random(4000) < 0.4
    flips = (rng.random((4000, 4)) < (0.15 + 0.7 * z)[:, None]).astype(int)
    X = np.column_stack([np.full(4000, -1), flips])
    result = fit_tables_em(
        X, [(), (0,), (0,), (0,), (0,)], (2,) * 5, n_init=2, random_state=0,
        max_iter=300,
    )  # fmt: skip
    t = result.state.params
    heads = np.array([table[:, 1] for table in t[1:]]).mean(axis=0)
    np.testing.assert_allclose(np.sort(heads), [0.15, 0.85], atol=0.03)
    assert max(t[0]) == pytest.approx(0.6, abs=0.04)


def test_a_network_learns_through_these():
    frame = {"x": ROWS[:, 0], "y": ROWS[:, 1]}
    network = BayesianNetwork([("x", "y")], kinds="discrete").fit(frame)
    np.testing.assert_allclose(network.nodes[1].prob, [[1 / 2, 1 / 2], [2 / 3, 1 / 3]])
    assert network.score_samples(frame).sum() == pytest.approx(-9.4624880, abs=1e-7)


def test_bad_priors_are_told():
    with pytest.raises(ValueError, match="prior must be None"):
        fit_tables(ROWS, [(), ()], (2, 2), prior="flat")
    with pytest.raises(ValueError, match="at least 0"):
        fit_tables(ROWS, [(), ()], (2, 2), prior=-1.0)


def test_codes_are_checked_before_the_loops_use_them():
    C = np.array([[0, 0], [1, 1]])
    for codes, parents, words in [
        (C * 5, [(), (0,)], "must be from -1"),
        (C * 0.5, [(), (0,)], "whole numbers"),
        (C[:, :1], [(), (0,)], "a column for each"),
        (C, [(1,), (0,)], "cycle"),
        (C, [(), (3,)], "column numbers"),
    ]:
        with pytest.raises(ValueError, match=words):
            fit_tables(codes, parents, (2, 2))
    with pytest.raises(ValueError, match="as many weights"):
        fit_tables(C, [(), (0,)], (2, 2), weights=[1.0])
    with pytest.raises(ValueError, match="need shapes"):
        fit_tables_em(C, [(), (0,)], (2, 2), tables=[np.ones(2)] * 2)
