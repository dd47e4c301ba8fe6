"""Gibbs sampling of discrete models against a slow version."""

import warnings

import numpy as np
import pytest

from pansophy.graphical import (
    ErgodicityWarning,
    FactorGraph,
    gibbs_sample,
)
from tests.oracles import factor_graphs as slow


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
            "pansophy.graphical.inference.gibbs_sampling.MAX_TABULATED_CELLS", small
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
    ("options", "words"),
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
