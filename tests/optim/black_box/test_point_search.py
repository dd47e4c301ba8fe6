"""Exhaustive, grid, random and local search, Latin hypercubes."""

from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pansophy import optim

sphere = lambda X: np.sum((np.asarray(X) - 0.7) ** 2, axis=-1)


one_max = lambda x: 20 - float(np.sum(x))


BOX = [(-5.0, 5.0)] * 3


def test_exhaustive_is_global():
    f = lambda x: np.cos(3 * x[0]) + 0.1 * (x[1] - 3) ** 2
    run = optim.exhaustive_search(f, [range(-9, 10), range(8)])
    values = {(a, b): f((a, b)) for a, b in product(range(-9, 10), range(8))}
    assert run.objective == min(values.values())
    assert values[tuple(run.state.position)] == run.objective
    assert run.state.evaluations == 152 and run.reason == "tolerance"
    assert np.all(np.diff(run.history["objective"]) <= 0)
    words = optim.exhaustive_search(len, ["three", "one", "four", "two"])
    assert words.state.position == "one"  # the earliest of equals
    with pytest.raises(ValueError, match="grid"):
        optim.exhaustive_search(f, [[1, 2], (0.0, 1.0)])


@given(st.lists(st.integers(1, 5), min_size=1, max_size=3), st.booleans())
def test_grid_uses_the_product_of_steps(steps, vectorised):
    where = [(-1.0, 2.0)] * len(steps)
    run = optim.grid_search(sphere, where, steps, vectorised=vectorised)
    assert run.state.evaluations == np.prod(steps) == len(run.state.points)
    np.testing.assert_allclose(run.state.values, sphere(run.state.points))
    assert run.objective == run.state.values.min()


@given(st.integers(1, 40), st.integers(1, 5), st.integers(0, 10**6))
def test_latin_strata_are_hit_once(n, d, seed):
    U = optim.latin_hypercube(d, n, random_state=seed)
    for j in range(d):
        assert sorted((U[:, j] * n).astype(int)) == list(range(n))
    P = optim.latin_hypercube([(2.0, 6.0)] * d, n, random_state=seed)
    np.testing.assert_allclose(P, 2 + 4 * U)


@pytest.mark.parametrize("design", ["random", "latin"])
def test_random_search(design):
    how = {"design": design, "random_state": 3}
    run = optim.random_search(sphere, BOX, 200, **how)
    same = optim.random_search(sphere, BOX, 200, vectorised=True, **how)
    np.testing.assert_array_equal(run.state.position, same.state.position)
    assert np.all(np.diff(run.history["objective"]) <= 0)
    assert run.n_iter == 200 and len(run.state.points) == 200
    with pytest.raises(ValueError, match="design"):
        optim.random_search(sphere, BOX, 10, design="sobol")


def test_local_search_ends_with_no_lower_neighbour():
    f = lambda x: (x[0] ** 2 - 4) ** 2 + x[0] + abs(x[1] - 1.25)
    path = optim.Trajectory()
    run = optim.local_search(f, [5.0, 5.0], 0.25, task=path)
    assert run.converged and np.all(np.diff(run.history["objective"][:-1]) < 0)
    for step in ([0.25, 0], [-0.25, 0], [0, 0.25], [0, -0.25]):
        assert f(run.state.position + step) >= run.objective
    assert run.state.position[0] == 2.0  # the valley of the start, not the lower one
    bits = optim.local_search(one_max, np.zeros(20), where=[range(2)] * 20)
    assert bits.objective == 0 and bits.n_iter == 21
    around = lambda w: [w + "a", w[:-1]] if w else ["a"]
    word = optim.local_search(lambda w: abs(len(w) - 3), "aaaaaa", around)
    assert word.state.position == "aaa"
    mixed = [["x", "y", "z"], range(5)]
    cost = lambda p: "zxy".index(p[0]) + abs(p[1] - 3)
    assert optim.local_search(cost, ["y", 0], where=mixed).state.position == ["z", 3]
