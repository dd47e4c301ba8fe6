"""Penalties that couple coordinates: worked projections, redundant equations."""

import numpy as np
import pytest

from pansophy import penalties


def test_worked_numbers():
    ball = penalties.ball(1.0)
    np.testing.assert_allclose(ball.prox(np.array([3.0, 4.0])), [0.6, 0.8])
    np.testing.assert_array_equal(ball.prox(np.array([0.3, 0.4])), [0.3, 0.4])
    simplex = penalties.simplex().prox(np.array([0.5, 0.5, 2.0]))
    np.testing.assert_allclose(simplex, [0, 0, 1])
    w = np.array([3.0, 4.0])
    np.testing.assert_allclose(
        penalties.group_l2(1.0).prox(w, 1.0), w * (1 - 2**0.5 / 5)
    )


def test_affine_projection(rng):
    A, b = rng.normal(size=(2, 5)), rng.normal(size=2)
    w = rng.normal(size=5)
    u = penalties.affine(A, b).prox(w)
    np.testing.assert_allclose(A @ u, b, atol=1e-12)
    best = w - A.T @ np.linalg.solve(A @ A.T, A @ w - b)
    np.testing.assert_allclose(u, best, atol=1e-12)
    twice = penalties.affine(np.vstack([A, A]), np.concatenate([b, b]))
    np.testing.assert_allclose(twice.prox(w), best, atol=1e-12)
    with pytest.raises(ValueError, match="must have a solution"):
        penalties.affine(np.vstack([A, A]), np.concatenate([b, b + 1]))


def test_groups_are_weighted_by_their_size():
    g = penalties.group_l2(1.0, groups=[0, 0, 1])
    assert g.value(np.array([3.0, 4.0, 2.0])) == pytest.approx(5 * 2**0.5 + 2)
    shrunk = g.prox(np.array([3.0, 4.0, 0.5]))
    np.testing.assert_allclose(shrunk[:2], np.array([3, 4]) * (1 - 2**0.5 / 5))
    assert shrunk[2] == 0  # a group of one is soft-thresholded


def test_normal_cones_at_the_edge():
    """Minus the gradient may point outwards, not inwards, at the edge of a set."""
    edge, outward = np.array([0.6, 0.8]), np.array([0.6, 0.8])
    assert penalties.ball(1.0).distance(edge, -outward) == pytest.approx(0)
    assert penalties.ball(1.0).distance(edge, outward) == pytest.approx(1)
    assert penalties.ball(1.0).distance(edge / 2, -outward) == pytest.approx(1)
    half = penalties.half_space([0.0, 2.0], 2.0)  # w_2 <= 1
    assert half.distance(np.array([5.0, 1.0]), np.array([0.0, -3.0])) == 0
    assert half.distance(np.array([5.0, 1.0]), np.array([0.0, 3.0])) == 3
    assert half.distance(np.array([5.0, 0.0]), np.array([0.0, -3.0])) == 3


def test_a_ball_of_radius_zero_is_a_point():
    point = penalties.ball(0.0, center=[1.0, 1.0])
    np.testing.assert_array_equal(point.prox(np.array([3.0, 4.0])), [1, 1])
    assert point.distance(np.array([1.0, 1.0]), np.array([2.0, 0.0])) == 0


def test_shapes_that_do_not_fit_are_refused():
    with pytest.raises(ValueError, match="center of ball has 2 entries, w has 3"):
        penalties.ball(1.0, center=[1.0, 0.0]).prox(np.ones(3))
    with pytest.raises(ValueError, match="a of half_space has 2 entries for 3"):
        penalties.half_space([1.0, 1.0]).prox(np.ones(3))
    with pytest.raises(ValueError, match="vector a other than 0"):
        penalties.half_space([0.0, 0.0])
    with pytest.raises(ValueError, match="b of affine must have 1 entries"):
        penalties.affine([[1.0, 1.0]], [1.0, 2.0])
