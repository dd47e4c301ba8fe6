"""Normals as an exponential family: densities and statistics of the plain forms."""

import numpy as np
import pytest

from pansophy.core.arrays.rows import as_rows
from pansophy.distributions import Normal
from pansophy.distributions import natural_parameters as natural
from pansophy.distributions.gaussian.normal import moments

SHAPES = ["full", "tied", "diag", "spherical"]


def components(shape, rng):
    A = rng.standard_normal((2, 3, 3))
    covs = {
        "full": A @ np.swapaxes(A, 1, 2) + np.eye(3),
        "tied": np.eye(3) + 0.3,
        "diag": rng.uniform(1, 2, (2, 3)),
        "spherical": np.array([1.0, 2.0]),
    }
    return Normal(rng.standard_normal((2, 3)) + 5, covs[shape], shape)


@pytest.fixture
def X(rng):
    return rng.standard_normal((40, 3)) * [1, 10, 0.1] + [5, 50, 5]


@pytest.mark.parametrize("shape", SHAPES)
def test_densities_are_those_of_the_normals(shape, X, rng):
    normal, log_w = components(shape, rng), np.log([0.3, 0.7])
    at = natural.standard_coordinates(as_rows(X), shape)
    B, q, error = natural.natural_coefficients(normal, log_w, at)
    right = normal.log_prob(X) + log_w
    found = natural.log_densities(X, at, B)
    np.testing.assert_allclose(natural.natural_features(X, at) @ B.T, found)
    if shape == "tied":  # up to a number that is the same for all components
        assert found.sum() / 2 + q == pytest.approx(right.sum() / 2)
        found, right = found[:, :1] - found[:, 1:], right[:, :1] - right[:, 1:]
    np.testing.assert_allclose(found, right, rtol=1e-9)
    assert error < natural.ERROR


@pytest.mark.parametrize("shape", SHAPES)
def test_statistics_are_weighted_moments(shape, X, rng):
    at = natural.standard_coordinates(as_rows(X), shape)
    R = rng.random((40, 1)) * np.array([0.4, 0.6])
    R = R / R.sum(axis=1, keepdims=True) if shape == "tied" else R
    S = natural.weighted_features(X, R, at)
    np.testing.assert_allclose(S, natural.natural_features(X, at).T @ R, atol=1e-10)
    found = natural.moments_from_features(S, at, shape)
    right = moments(X, R, shape)
    for name in ("weight", "mean", "scatter"):
        np.testing.assert_allclose(
            getattr(found, name), getattr(right, name), rtol=1e-8, atol=1e-10
        )


@pytest.mark.parametrize("hard", [False, True])
@pytest.mark.parametrize("labelled", [False, True])
def test_one_block_on_numpy_and_on_tensors(hard, labelled, X, rng):
    torch = pytest.importorskip("torch")
    normal = components("full", rng)
    at = natural.standard_coordinates(as_rows(X), "full")
    B, _, _ = natural.natural_coefficients(normal, np.log([0.5, 0.5]), at)
    w = rng.uniform(0.5, 2, 40)
    y = np.where(np.arange(40) < 10, 1, -1) if labelled else None
    owner = np.arange(2) if labelled else None
    S, loglik = natural.expect_block(X, w, y, at, B, owner, hard)
    other = natural.expect_block(
        torch.asarray(X), torch.asarray(w), y, at, B, owner, hard
    )
    np.testing.assert_allclose(S, other[0], rtol=1e-9)
    assert loglik == pytest.approx(other[1])
    L = natural.log_densities(X, at, B)
    R, total = natural.weighted_responsibilities(L, w, y, owner, hard)
    assert total == pytest.approx(loglik)
    np.testing.assert_allclose(R.sum(axis=1), w)
    if labelled:
        assert (R[:10, 0] == 0).all()


def test_tight_components_are_reported(X):
    at = natural.standard_coordinates(as_rows(X), "diag")
    tight = Normal(X[:2], np.full((2, 3), 1e-14), "diag")
    assert natural.natural_coefficients(tight, 0.0, at)[2] > natural.ERROR
