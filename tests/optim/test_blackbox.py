"""Search without derivatives: designs, local search, annealing, swarm, genetic."""

from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pansophy import optim

sphere = lambda X: np.sum((np.asarray(X) - 0.7) ** 2, axis=-1)
one_max = lambda x: 20 - float(np.sum(x))
BOX = [(-5.0, 5.0)] * 3
SEARCHES = {
    "annealing": lambda *a, **k: optim.simulated_annealing(
        *a, **{"max_iter": 120} | k, moves=40
    ),
    "swarm": optim.particle_swarm,
    "genetic": optim.genetic,
}


def test_exhaustive_is_global():
    f = lambda x: np.cos(3 * x[0]) + 0.1 * (x[1] - 3) ** 2
    run = optim.exhaustive(f, [range(-9, 10), range(8)])
    values = {(a, b): f((a, b)) for a, b in product(range(-9, 10), range(8))}
    assert run.objective == min(values.values())
    assert values[tuple(run.state.position)] == run.objective
    assert run.state.evaluations == 152 and run.reason == "tolerance"
    assert np.all(np.diff(run.history["objective"]) <= 0)
    words = optim.exhaustive(len, ["three", "one", "four", "two"])
    assert words.state.position == "one"  # the earliest of equals
    with pytest.raises(ValueError, match="grid"):
        optim.exhaustive(f, [[1, 2], (0.0, 1.0)])


@given(st.lists(st.integers(1, 5), min_size=1, max_size=3), st.booleans())
def test_grid_uses_the_product_of_steps(steps, vectorised):
    where = [(-1.0, 2.0)] * len(steps)
    run = optim.grid(sphere, where, steps, vectorised=vectorised)
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


@pytest.mark.parametrize("name", SEARCHES)
def test_mixed_spaces(name):
    where = {"n": range(1, 9), "rate": (1e-4, 1.0, "log"), "kind": ["a", "b", "c"]}

    def cost(p):
        assert set(p) == set(where) and isinstance(p["n"], int)
        return (p["n"] - 6) ** 2 + np.log10(p["rate"] / 0.01) ** 2 + (p["kind"] != "b")

    run = SEARCHES[name](cost, where, random_state=0, max_iter=100)
    best = run.state.position
    assert (best["n"], best["kind"]) == (6, "b")
    assert best["rate"] == pytest.approx(0.01, rel=0.05)


def test_cold_annealing_is_greedy():
    from pansophy.core.metropolis import acceptance_threshold

    rng = np.random.default_rng(0)
    assert np.all(acceptance_threshold(0.0, 9, rng) == 0) and np.all(
        acceptance_threshold(1e-300, 9, rng) < 1e-290
    )
    taken = acceptance_threshold(2.0, 20000, rng) >= 1  # worse by 1 at temperature 2
    assert taken.mean() == pytest.approx(np.exp(-0.5), abs=0.02)
    trace = []
    f = lambda x: trace.append(float(x @ x)) or trace[-1]
    how = {"temperature": 0, "random_state": 0, "max_iter": 30, "moves": 20}
    run = optim.simulated_annealing(f, BOX, **how)
    assert run.state.values[0] == run.objective == min(trace)
    warm = optim.schedules.Schedule(1.0, 1e-3, 20, "geometric")
    run = optim.simulated_annealing(sphere, BOX, temperature=warm, random_state=0,
                                    max_iter=25)  # fmt: skip
    np.testing.assert_allclose(run.history["temperature"][:21], warm(np.arange(21)))


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


def test_what_is_not_a_number_is_never_best():
    holes = lambda x: np.nan if x[0] < 0 else float(sphere(x))
    for search in SEARCHES.values():
        run = search(holes, BOX, random_state=0, max_iter=40)
        assert run.state.position[0] >= 0 and np.isfinite(run.objective)


def test_bad_spaces():
    cases = [
        ([(1.0, 0.0)], "low <= high"), ([(0.0, 1.0, "log")], "above 0"),
        ([[]], "no values"), ((0.0, 1.0), "list of ranges"), (["ab"], "must be"),
        ([(0.0, np.inf)], "not finite"), ([], "at least one"),
    ]  # fmt: skip
    for where, words in cases:
        with pytest.raises(ValueError, match=words):
            optim.space(where)
    with pytest.raises(ValueError, match="values for"):
        optim.genetic(lambda X: 1.0, BOX, vectorised=True)


def test_space_round_trip(rng):
    where = optim.space([(-2.0, 5.0), (0.1, 10.0, "log"), range(3, 9), ["a", "b"]])
    for u in rng.random((20, 4)):
        x = where.point(u)
        assert where.point(where.unit(x)) == pytest.approx(x) or isinstance(x[3], str)
        np.testing.assert_allclose(where.unit(x)[:2], u[:2])
        assert where.point(where.unit(x))[2:] == x[2:]
