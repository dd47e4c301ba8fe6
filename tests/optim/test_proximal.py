"""Projected gradient descent."""

import numpy as np

from pansophy import optim


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
