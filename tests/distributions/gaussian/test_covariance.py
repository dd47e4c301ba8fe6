"""Covariance shapes of Normals."""

import numpy as np
import pytest

from pansophy.distributions import (
    SHAPES,
    Normal,
)
from pansophy.distributions.gaussian.covariance import full_scatter, outer_full


@pytest.mark.parametrize("shape", SHAPES)
def test_covariance_shapes_are_normals(shape, rng):
    """Every shape agrees with the dense Normal and keeps its constraint."""
    X, R = rng.normal(size=(80, 3)) @ rng.normal(size=(3, 3)), rng.random((80, 4))
    some = Normal(np.zeros((4, 3)), np.ones((4, 3)), "diag")
    m = Normal(np.zeros((4, 3)), default_cov(shape), shape).stats(X, R)
    q = Normal.from_stats(m)
    dense = Normal(q.mean, q.dense)
    assert np.allclose(q.log_prob(X), dense.log_prob(X), rtol=1e-11)
    assert np.allclose(q.entropy, dense.entropy)
    assert np.allclose(q.mean, some.stats(X, R).mean)
    assert (
        q.part.free(3, 4) == {"full": 30, "tied": 10, "diag": 12, "spherical": 3}[shape]
    )
    if shape == "tied":
        N, full = R.sum(0), Normal.from_stats(dense.stats(X, R))
        assert np.allclose(q.cov, np.einsum("k,kij->ij", N / N.sum(), full.cov))
    assert np.allclose(q[1].log_prob(X), q.log_prob(X)[:, 1])
    z = rng.integers(4, size=4000)
    draws = q.draw(z, rng)
    assert np.allclose(draws[z == 2].mean(0), q.mean[2], atol=0.3)


def default_cov(shape):
    table = {"full": np.stack([np.eye(3)] * 4), "tied": np.eye(3)}
    return {**table, "diag": np.ones((4, 3)), "spherical": np.ones(4)}[shape]


def test_nested_shapes_fit_no_better(rng):
    X = rng.normal(size=(200, 3)) @ rng.normal(size=(3, 3))
    fit = lambda s: Normal.from_stats(
        Normal(np.zeros(3), np.ones(3) if s == "diag" else 1.0, s).stats(X)
    )
    full = Normal.from_stats(Normal(np.zeros(3), np.eye(3)).stats(X))
    values = [p.log_prob(X).sum() for p in (fit("spherical"), fit("diag"), full)]
    assert values == sorted(values)


def test_scatter_of_weighted_rows_about_means(rng):
    """The `outer` and `scatter` of the full shape, term by term."""
    D, N = rng.normal(size=(4, 3)), rng.uniform(0.5, 3, 4)
    expected = [n * np.outer(d, d) for n, d in zip(N, D, strict=True)]
    np.testing.assert_allclose(outer_full(D, N), expected)
    X, R = rng.normal(size=(7, 3)), rng.random((7, 4))
    expected = np.zeros((4, 3, 3))
    for k in range(4):
        for i in range(7):
            expected[k] += R[i, k] * np.outer(X[i] - D[k], X[i] - D[k])
    np.testing.assert_allclose(full_scatter(X, D, R), expected)
