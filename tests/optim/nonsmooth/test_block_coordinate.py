"""Block coordinate descent."""

import numpy as np
import pytest

from pansophy import optim


def test_k_means_by_alternating():
    x = np.array([1.0, 2, 4, 10, 11, 15])
    loss = lambda c, z: float(np.sum((x - c[z]) ** 2))
    centres = lambda c, z: np.array([x[z == k].mean() for k in range(2)])
    labels = lambda c, z: np.argmin(np.abs(x[:, None] - c), axis=1)
    first = np.array([1.0, 2.0])
    run = optim.alternating_minimization(
        loss, [centres, labels], (first, labels(first, None))
    )
    half = run.history["half"]
    assert np.all(np.diff(half) <= 1e-12)
    # losses with the labels of the centres: 318, 62.88, 18.66667
    np.testing.assert_allclose(half[::2][:3], [318, 62.88, 18.66667], atol=1e-5)
    np.testing.assert_allclose(run.state.position[0], [7 / 3, 12])
    assert run.converged


def test_wrong_update_is_named():
    f = lambda a, b: (a - b) ** 2 + b**2
    with pytest.raises(ValueError, match="update 1 raised"):
        optim.alternating_minimization(
            f, [lambda a, b: b, lambda a, b: a + 5], (1.0, 1.0)
        )


def test_blocks_of_a_vector(rng):
    A = rng.normal(size=(6, 6))
    A, b = A @ A.T + 3 * np.eye(6), rng.normal(size=6)
    f = lambda x: (float(x @ A @ x) / 2 - b @ x, A @ x - b)
    best = np.linalg.solve(A, b)
    for blocks in (None, [[0, 1, 2], [3, 4, 5]], [[0, 5], [1, 2, 3, 4]]):
        run = optim.block_descent(f, np.zeros(6), blocks)
        assert run.converged
        np.testing.assert_allclose(run.state.position, best, atol=1e-5)
        assert np.all(np.diff(run.history["objective"]) <= 1e-12)
    exact = lambda g, x, **how: optim.conjugate_gradient(g, x, **how)
    run = optim.block_descent(f, np.zeros(6), [[0, 1, 2], [3, 4, 5]], solver=exact)
    np.testing.assert_allclose(run.state.position, best, atol=1e-5)
    with pytest.raises(ValueError, match="exactly once"):
        optim.block_descent(f, np.zeros(6), [[0, 1], [1, 2, 3, 4, 5]])
