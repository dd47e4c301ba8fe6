"""Projected gradient descent."""

import numpy as np
import pytest

from pansophy import optim, penalties


def test_projections(rng):
    from pansophy import penalties

    ball = penalties.ball(1.0)
    np.testing.assert_allclose(ball.prox(np.array([3.0, 4.0])), [0.6, 0.8])
    np.testing.assert_array_equal(ball.prox(np.array([0.3, 0.4])), [0.3, 0.4])
    plane = penalties.affine(rng.normal(size=(2, 4)), rng.normal(size=2))
    for p in (ball, penalties.box(-1.0, 0.5), penalties.simplex(1.0), plane):
        for _ in range(20):
            x, u = 3 * rng.normal(size=(2, 4))
            a, b = p.prox(x), p.prox(u)
            np.testing.assert_allclose(p.prox(a), a, atol=1e-12)
            assert np.linalg.norm(a - b) <= np.linalg.norm(x - u) + 1e-12
            path = optim.Trajectory()
            goal = lambda w, x=x: (float((w - x) @ (w - x)) / 2, w - x)
            run = optim.projected_gradient(goal, p, u, task=path)
            np.testing.assert_allclose(run.state.position, a, atol=1e-6)
            assert all(p.value(w) == 0 for w in path.positions)
    x, along = rng.normal(size=(2, 3))
    onto = (x @ along) / (along @ along) * along
    assert abs((x - onto) @ along) < 1e-12


def test_balls_with_a_center_and_half_spaces(rng):
    center = np.array([1.0, -2.0, 0.5])
    ball = penalties.ball(1.5, center=center)
    normal = np.array([1.0, 2.0, -2.0])
    half = penalties.half_space(normal, 3.0)
    for w in rng.normal(size=(50, 3)) * 3:
        for held in (ball, half):
            u = held.prox(w)
            assert held.value(u) == 0
            np.testing.assert_allclose(held.prox(u), u, atol=1e-12)
            v = rng.normal(size=3) * 3
            moved = np.linalg.norm(u - held.prox(v))
            assert moved <= np.linalg.norm(w - v) + 1e-12  # non-expansive
        far = np.linalg.norm(w - center)
        inside = center + (w - center) * min(1.0, 1.5 / far)
        np.testing.assert_allclose(ball.prox(w), inside)
        over = max(normal @ w - 3.0, 0.0)
        np.testing.assert_allclose(half.prox(w), w - over * normal / 9)
    # a fixed point of projected steps is the constrained optimum
    goal = np.array([4.0, 4.0, 0.0])
    f = lambda x: (float(np.sum((x - goal) ** 2)), 2 * (x - goal))
    for held in (ball, half):
        run = optim.projected_gradient(f, held, np.zeros(3))
        np.testing.assert_allclose(run.state.position, held.prox(goal), atol=1e-6)
        assert float(held.distance(run.state.position, f(run.state.position)[1])) < 1e-5
    for wrong in (
        lambda: penalties.half_space([0.0, 0.0]),
        lambda: penalties.half_space([1.0], np.inf),
        lambda: penalties.ball(1.0, center=[[0.0]]),
        lambda: penalties.ball(1.0, center=[0.0, 1.0]).prox(np.zeros(3)),
        lambda: penalties.half_space([1.0, 1.0]).prox(np.zeros(3)),
    ):
        with pytest.raises(ValueError, match=r"ball|half_space"):
            wrong()


def test_projection_onto_the_ball():
    f = lambda x: (float((x - 3) @ (x - 3)) / 2, x - 3)
    run = optim.projected_gradient(f, penalties.ball(1.0), np.zeros(2))
    np.testing.assert_allclose(run.state.position, [0.5**0.5] * 2, atol=1e-8)
    with pytest.raises(ValueError, match="constraint"):
        optim.projected_gradient(f, penalties.l1(1.0), np.zeros(2))
