"""Gaussian belief propagation against the direct solution."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pansophy.graphical import (
    gaussian_bp,
)


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
    ("J", "h", "words"),
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
