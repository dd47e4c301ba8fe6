"""Search spaces: their specification, and searches over mixed ones."""

import numpy as np
import pytest

from pansophy import optim

sphere = lambda X: np.sum((np.asarray(X) - 0.7) ** 2, axis=-1)


BOX = [(-5.0, 5.0)] * 3


SEARCHES = {
    "annealing": lambda *a, **k: optim.simulated_annealing(
        *a, **{"max_iter": 120} | k, moves=40
    ),
    "swarm": optim.particle_swarm,
    "genetic": optim.genetic_algorithm,
}


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
            optim.search_space(where)
    with pytest.raises(ValueError, match="values for"):
        optim.genetic_algorithm(lambda X: 1.0, BOX, vectorised=True)


def test_space_round_trip(rng):
    where = optim.search_space(
        [(-2.0, 5.0), (0.1, 10.0, "log"), range(3, 9), ["a", "b"]]
    )
    for u in rng.random((20, 4)):
        x = where.point(u)
        assert where.point(where.unit(x)) == pytest.approx(x) or isinstance(x[3], str)
        np.testing.assert_allclose(where.unit(x)[:2], u[:2])
        assert where.point(where.unit(x))[2:] == x[2:]
