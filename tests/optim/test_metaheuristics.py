"""Simulated annealing, particle swarm and genetic algorithm on common problems."""

import numpy as np
import pytest

from pansophy import optim

sphere = lambda X: np.sum((np.asarray(X) - 0.7) ** 2, axis=-1)


one_max = lambda x: 20 - float(np.sum(x))


BOX = [(-5.0, 5.0)] * 3


SEARCHES = {
    "annealing": lambda *a, **k: optim.simulated_annealing(
        *a, **{"max_iter": 120} | k, moves=40
    ),
    "swarm": optim.particle_swarm,
    "genetic": optim.genetic_algorithm,
}


@pytest.mark.parametrize("name", SEARCHES)
def test_metaheuristics(name):
    search = SEARCHES[name]
    run = search(sphere, BOX, random_state=0)
    assert run.objective < 1e-6
    np.testing.assert_allclose(run.state.position, 0.7, atol=1e-3)
    assert np.all(np.diff(run.history["objective"]) <= 0)
    again = search(sphere, BOX, random_state=0, vectorised=True)
    np.testing.assert_allclose(again.state.position, run.state.position)
    bits = search(one_max, [range(2)] * 20, random_state=0, max_iter=60)
    assert bits.objective == 0
    start = search(sphere, BOX, [0.7, 0.7, 0.7], random_state=1, max_iter=1)
    assert start.objective <= 1e-20
    with pytest.raises(ValueError, match="outside"):
        search(sphere, BOX, [9.0, 0, 0])


def test_interrupted_search_keeps_its_best():
    calls = []

    def f(x):
        calls.append(1)
        if len(calls) > 400:
            raise KeyboardInterrupt
        return float(sphere(x))

    for search in SEARCHES.values():
        calls.clear()
        run = search(f, BOX, random_state=0)
        assert run.interrupted and np.isfinite(run.objective)
