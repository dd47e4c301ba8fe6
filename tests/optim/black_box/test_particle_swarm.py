"""Particle swarm: stays in the box, finds an edge, and counts what it evaluates."""

import numpy as np
import pytest

from pansophy import optim


def test_an_optimum_at_the_corner_and_all_points_inside():
    seen = []

    def f(X):
        seen.append(X.copy())
        return X.sum(axis=1)

    run = optim.particle_swarm(
        f, [(2.0, 3.0), (-1.0, 5.0)], vectorised=True, n_particles=10, random_state=0,
        max_iter=60,
    )  # fmt: skip
    points = np.concatenate(seen)
    assert (points >= [2, -1]).all() and (points <= [3, 5]).all()
    np.testing.assert_allclose(run.state.position, [2, -1], atol=1e-6)
    assert run.state.evaluations == len(points) == 10 * (run.n_iter + 1)


def test_the_best_of_each_particle_never_gets_worse():
    f = lambda X: np.sum(X**2 + 3 * np.cos(5 * X), axis=1)
    how = {"vectorised": True, "random_state": 3, "tol": 0.0}
    short = optim.particle_swarm(f, [(-5, 5)] * 2, max_iter=5, **how)
    long = optim.particle_swarm(f, [(-5, 5)] * 2, max_iter=20, **how)
    assert (long.state.values <= short.state.values).all()
    np.testing.assert_array_equal(
        long.history["objective"][:5], short.history["objective"]
    )


@pytest.mark.parametrize("n", [0, 1, -3, 2.5, True])
def test_a_swarm_has_two_particles_at_least(n):
    f = lambda X: np.sum(X**2, axis=1)
    with pytest.raises(ValueError, match="n_particles must be a whole number of at le"):
        optim.particle_swarm(f, [(-5, 5)], vectorised=True, n_particles=n)
    least = optim.particle_swarm(
        f, [(-5, 5)], vectorised=True, n_particles=2, max_iter=3, random_state=0
    )
    assert least.state.P.shape == (2, 1)
    usual = optim.particle_swarm(f, [(-5, 5)] * 2, vectorised=True, max_iter=1)
    assert len(usual.state.P) == 26
    many = optim.particle_swarm(f, [(-5, 5)] * 40, vectorised=True, max_iter=1)
    assert len(many.state.P) == 100
