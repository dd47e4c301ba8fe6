"""Gibbs sampling of factor graphs, learning of fields, Gaussian messages."""

import warnings

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pansophy.graphical import (
    ErgodicityWarning,
    FactorGraph,
    MarkovRandomField,
    gaussian_bp,
    gibbs_sample,
)
from tests.oracles import factor_graphs as slow

T = np.array([[2.0, 1.0], [1.0, 2.0]])
LOOP = {("a", "b"): T, ("b", "c"): T, ("c", "d"): T, ("d", "a"): T}


def some_graph(wide=False):
    rng = np.random.default_rng(5)
    sizes = [2, 3, 2, 4]
    scopes = [(0, 1), (1, 2), (2, 3), (0, 3), (3,)]
    factors = [(s, 0.2 + rng.random([sizes[v] for v in s])) for s in scopes]
    return sizes, factors, FactorGraph(sizes, factors)


@pytest.mark.parametrize("small", [None, 0])
def test_rows_equal_the_slow_ones(small, monkeypatch):
    if small is not None:  # conditionals from the factors, not tabulated
        monkeypatch.setattr(
            "pansophy.graphical.gibbs_sampling.MAX_TABULATED_CELLS", small
        )
    sizes, factors, graph = some_graph()
    fast = gibbs_sample(graph, 50, evidence={"x1": 2}, burn_in=0, random_state=3).codes[
        0
    ]
    rng = np.random.default_rng(3)
    x = rng.integers(0, sizes)
    x[1] = 2
    seed = rng.integers(0, 2**63, size=(1, 1))[0, 0]
    np.testing.assert_array_equal(
        fast, slow.gibbs_rows(sizes, factors, [0, 2, 3], x, seed, 50)
    )


def test_marginals_converge():
    sizes, factors, graph = some_graph()
    _, exact, _, _ = slow.enumerate_graph(sizes, factors, {2: 1})
    draws = gibbs_sample(graph, 20000, evidence={"x2": 1}, chains=2, random_state=0)
    assert draws.codes.shape == (2, 20000, 4)
    for v, p in enumerate(exact):
        np.testing.assert_allclose(draws[f"x{v}"], p, atol=0.015)
    again = gibbs_sample(graph, 20000, evidence={"x2": 1}, chains=2, random_state=0)
    np.testing.assert_array_equal(draws.codes, again.codes)
    assert (draws.codes[0] != draws.codes[1]).any()
    assert set(draws.columns()["x2"]) == {1}


def test_deterministic_tables_warn():
    same = FactorGraph([2, 2], [((0, 1), np.eye(2)), (0, [0.7, 0.3])])
    with pytest.warns(ErgodicityWarning, match="may not reach"):
        draws = gibbs_sample(same, 500, random_state=0)
    assert len(np.unique(draws.codes, axis=1)) == 1  # stuck where it began
    with warnings.catch_warnings():
        warnings.simplefilter("error")  # evidence removes the zeros
        gibbs_sample(
            FactorGraph([2, 2], [((0, 1), [[1, 0], [1, 1]])]), 5, evidence={"x0": 1}
        )


@pytest.mark.parametrize(
    "options, words",
    [
        ({"evidence": {"x0": 0, "x1": 1}}, "probability 0"),
        ({"evidence": {"x7": 0}}, "x7"),
        ({"n_samples": 0}, "n_samples"),
        ({"burn_in": -1}, "burn_in"),
        ({"chains": 0}, "chains"),
    ],
)
def test_bad_input(options, words):
    with pytest.raises(ValueError, match=words):
        gibbs_sample(FactorGraph([2, 2], [((0, 1), np.eye(2))]), **options)


# -- learning -------------------------------------------------------------------------


@pytest.mark.parametrize("small", [1 << 14, 1])
def test_moments_match_at_the_optimum(small, monkeypatch):
    monkeypatch.setattr(
        "pansophy.graphical.markov_random_field.MAX_ENUMERATED_STATES", small
    )
    data = MarkovRandomField(LOOP, {"a": [3, 1]}).sample(400, random_state=0)
    data = {v: column.astype(int) for v, column in data.items()}
    field = MarkovRandomField(list(LOOP)).fit(data)
    assert field.run_.converged
    p, place = field.joint(), field.space.number
    for i, j in LOOP:
        at = (place(i), place(j))
        rest = tuple(k for k in range(4) if k not in at)
        seen = np.zeros((2, 2))
        np.add.at(seen, tuple(data[field.space.names[k]] for k in sorted(at)), 1 / 400)
        np.testing.assert_allclose(p.sum(axis=rest), seen, atol=1e-5)


def test_pseudo_likelihood_and_weights():
    truth = MarkovRandomField(LOOP, {"a": [3, 1]})
    data = truth.sample(20000, random_state=0)
    order = [truth.space.number(v) for v in sorted("abcd")]
    data = {v: data[v].astype(int) for v in "abcd"}
    for method in ("exact", "pseudo"):
        field = MarkovRandomField(list(LOOP), method=method).fit(data)
        gap = field.joint() - truth.joint().transpose(order)
        assert np.abs(gap).max() < 0.01
    rows = np.column_stack([data[v][:50] for v in "abcd"])
    k = np.random.default_rng(0).integers(1, 4, 50)
    cliques = [("x0", "x1"), ("x1", "x2")]
    a = MarkovRandomField(cliques, alpha=0.1).fit(rows, sample_weight=k)
    b = MarkovRandomField(cliques, alpha=0.1).fit(np.repeat(rows, k, axis=0))
    np.testing.assert_allclose(a.joint(), b.joint(), atol=1e-9)
    total = np.exp(a.score_samples(np.array(list(np.ndindex(2, 2, 2, 2))))).sum()
    assert total == pytest.approx(1)
    with pytest.raises(ValueError, match="missing"):
        MarkovRandomField(cliques).fit(np.array([[0, np.nan, 1], [1, 0, 1]]))


def test_gradients():
    from pansophy.graphical.markov_random_field import FieldLikelihood

    rng = np.random.default_rng(0)
    rows = rng.integers(0, [2, 3, 2], (20, 3))
    scopes = [(0,), (1,), (2,), (0, 1), (1, 2), (0, 1, 2)]
    problem = FieldLikelihood(scopes, (2, 3, 2), rows, rng.dirichlet(np.ones(20)), 0.2)
    t = rng.normal(size=problem.start[-1])
    for loss in (problem.exact, problem.pseudo):
        _, grad = loss(t)
        for k in range(0, len(t), 3):
            e = np.eye(len(t))[k] * 1e-6
            slope = (loss(t + e)[0] - loss(t - e)[0]) / 2e-6
            assert grad[k] == pytest.approx(slope, abs=1e-7)


# -- Gaussian messages ----------------------------------------------------------------


@settings(max_examples=25, deadline=None)
@given(st.integers(0, 10**6), st.booleans())
def test_gaussian_trees_equal_the_direct_solve(seed, chain):
    rng = np.random.default_rng(seed)
    d = int(rng.integers(1, 12))
    J = np.zeros((d, d))
    for i in range(1, d):
        p = i - 1 if chain else int(rng.integers(0, i))
        J[i, p] = J[p, i] = rng.normal()
    J += np.diag(np.abs(J).sum(axis=1) + 0.3)
    h = rng.normal(size=d)
    b = gaussian_bp(J, h)
    C = np.linalg.inv(J)
    assert b.converged and b.run.n_iter <= 2
    np.testing.assert_allclose(b.mean, C @ h, atol=1e-10)
    np.testing.assert_allclose(b.variance, np.diag(C), atol=1e-10)
    np.testing.assert_allclose(b.covariance, C[tuple(b.pairs.T)], atol=1e-10)


def test_gaussian_loops_have_right_means():
    d = 30
    J = 3.0 * np.eye(d)
    for i in range(d):
        J[i, (i + 1) % d] = J[(i + 1) % d, i] = -1.2
    h = np.sin(np.arange(d))
    b = gaussian_bp(J, h)
    assert b.converged
    np.testing.assert_allclose(b.mean, np.linalg.solve(J, h), atol=1e-10)


@pytest.mark.parametrize(
    "J, h, words",
    [
        (np.ones((2, 3)), np.ones(2), "square"),
        ([[1.0, 0.5], [0.2, 1.0]], [1.0, 1.0], "symmetric"),
        ([[1.0, 2.0], [2.0, 1.0]], [1.0, 1.0], "positive definite"),
        ([[-1.0]], [1.0], "positive definite"),
        ([[np.nan]], [1.0], "finite"),
    ],
)
def test_gaussian_bad_input(J, h, words):
    with pytest.raises(ValueError, match=words):
        gaussian_bp(J, h)
