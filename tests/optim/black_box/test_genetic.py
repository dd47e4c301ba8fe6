"""Genetic algorithm, and what it shares with annealing and swarms."""

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


def test_children_of_choices_are_one_of_their_parents(rng):
    from pansophy.optim.black_box.genetic import BLEND, crossover

    P, Q = rng.random((200, 2)) / 2 + 0.25, rng.random((200, 2)) / 2 + 0.25
    child = crossover(np.array([0, 3]), P, Q, rng)
    assert np.isin(child[:, 1], np.concatenate([P[:, 1], Q[:, 1]])).all()
    assert ((child[:, 1] == P[:, 1]) | (child[:, 1] == Q[:, 1])).all()
    low, high = np.minimum(P, Q)[:, 0], np.maximum(P, Q)[:, 0]
    reach = BLEND * (high - low) + 1e-12
    assert ((child[:, 0] >= low - reach) & (child[:, 0] <= high + reach)).all()
    assert (child[:, 0] < low).any()  # a blend may go beyond its parents


def test_options_of_a_generation_are_checked():
    with pytest.raises(ValueError, match="population"):
        optim.genetic_algorithm(sphere, BOX, population=1)
    with pytest.raises(ValueError, match=r"elite must be in \[0, 1\)"):
        optim.genetic_algorithm(sphere, BOX, elite=1.0)
    run = optim.genetic_algorithm(
        sphere, BOX, population=10, elite=0.2, max_iter=3, tol=0.0, random_state=0
    )
    assert run.state.evaluations == 10 + 3 * 8
