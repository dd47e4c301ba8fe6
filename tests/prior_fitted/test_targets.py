"""Targets: one-hot classes, numbers shared between knots, quantiles."""

import numpy as np
import torch

from pansophy.prior_fitted.targets import (
    FARTHEST_KNOT,
    encode_targets,
    hat_weights,
    knot_positions,
    quantiles_on_grid,
)


def test_classes_are_one_hot_and_numbers_are_cells():
    y = np.array([[0, 2, 1]])
    told, mean, scale = encode_targets(y, 3)
    np.testing.assert_array_equal(told[0, :, :3], np.eye(3)[y[0]])
    assert told.shape == (1, 3, 34)
    assert not told[0, :, 10:].any()
    assert (mean, scale) == (0, 1)
    z = np.array([[1.0, 3.0, 8.0]], np.float32)
    told, mean, scale = encode_targets(z, 0)
    assert not told[..., :10].any()
    assert mean == 4
    np.testing.assert_allclose(scale, z.std(), rtol=1e-5)


def test_numpy_and_torch_agree():
    z = np.random.default_rng(0).standard_normal((2, 9)).astype(np.float32)
    for y, k in ((z, 0), ((z > 0) * 1, 2)):
        for ours, theirs in zip(
            encode_targets(y, k), encode_targets(torch.from_numpy(y), k), strict=True
        ):
            np.testing.assert_allclose(ours, theirs.numpy(), atol=2e-6)
    expected = hat_weights(torch.from_numpy(z)).numpy()
    np.testing.assert_allclose(hat_weights(z), expected, atol=1e-5)


def test_hats_share_a_number_between_two_knots():
    z = np.linspace(-FARTHEST_KNOT, FARTHEST_KNOT, 101)
    shares = hat_weights(z)
    np.testing.assert_allclose(shares.sum(axis=1), 1)
    np.testing.assert_allclose(shares @ knot_positions(z), z, atol=1e-12)
    assert ((shares > 1e-9).sum(axis=1) <= 2).all()
    np.testing.assert_allclose(hat_weights(np.array([9.0]))[0, -1], 1)


def test_quantiles_invert_the_distribution_function_of_hats():
    rng = np.random.default_rng(0)
    grid = knot_positions(np.zeros(1))
    P = rng.dirichlet(np.ones(len(grid)), 2)
    levels = np.array([0.1, 0.5, 0.9])
    Q = quantiles_on_grid(grid, P, levels)
    # numbers drawn from the hats: a knot, and a triangular distance from it
    step = grid[1] - grid[0]
    for p, q in zip(P, Q, strict=True):
        knot = rng.choice(grid, 200_000, p=p)
        drawn = knot + rng.triangular(-step, 0, step, 200_000)
        shares = (drawn[:, None] <= q).mean(axis=0)
        np.testing.assert_allclose(shares, levels, atol=0.01)
