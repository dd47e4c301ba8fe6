"""Draws through a decoder, and walks between codes."""

import numpy as np
import pytest

from pansophy.distributions import Normal
from pansophy.generative import VAE, latent_interpolation, sample_decoder


def test_linear_decoder_gives_the_covariance_of_its_matrix():
    W = np.array([[1.0, 2.0, 0.0], [0.0, -1.0, 3.0]])
    prior = Normal(np.zeros(2), np.eye(2))
    X = sample_decoder(lambda z: z @ W, prior, 60_000, random_state=0)
    np.testing.assert_allclose(np.cov(X.T), W.T @ W, atol=0.15)
    again = sample_decoder(lambda z: z @ W, prior, 60_000, random_state=0)
    np.testing.assert_array_equal(X, again)


def test_walks_begin_and_end_at_their_codes():
    a, b = np.array([1.0, 0.0, 2.0]), np.array([0.0, 2.0, -1.0])
    for kind in ("linear", "spherical"):
        walk = latent_interpolation(a, b, 7, kind=kind)
        assert walk.shape == (7, 3)
        np.testing.assert_allclose(walk[[0, -1]], [a, b], atol=1e-12)


def test_spherical_walk_keeps_the_length():
    a, b = np.eye(2) * 3
    lengths = np.linalg.norm(latent_interpolation(a, b, 9, kind="spherical"), axis=1)
    np.testing.assert_allclose(lengths, 3)
    straight = np.linalg.norm(latent_interpolation(a, b, 9), axis=1)
    assert straight.min() == pytest.approx(3 / 2**0.5)
    # codes in line, and a code of length 0, have no arc
    np.testing.assert_allclose(
        latent_interpolation([1.0, 0.0], [3.0, 0.0], 3, kind="spherical")[1], [2, 0]
    )
    np.testing.assert_allclose(
        latent_interpolation([0.0, 0.0], [2.0, 0.0], 3, kind="spherical")[1], [1, 0]
    )


def test_close_codes_give_close_rows():
    rng = np.random.default_rng(0)
    t = rng.uniform(-2, 2, (200, 1))
    X = np.hstack([t, t**2])
    model = VAE(1, n_epochs=30, random_state=0, device="cpu").fit(X)
    rows = model.decode(latent_interpolation([-2.0], [2.0], 41))
    steps = np.linalg.norm(np.diff(rows, axis=0), axis=1)
    assert steps.max() < 0.15 * np.linalg.norm(np.ptp(X, axis=0))


def test_clear_errors():
    with pytest.raises(ValueError, match="codes of one length"):
        latent_interpolation([1.0], [1.0, 2.0])
    with pytest.raises(ValueError, match='"linear" or "spherical"'):
        latent_interpolation([1.0], [2.0], kind="round")
