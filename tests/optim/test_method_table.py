"""The table of methods: what "auto" takes, and what a method refuses."""

import numpy as np
import pytest

from pansophy import penalties
from pansophy.optim import method_table as table
from pansophy.optim.method_table import MinimizeProblem

BOWL = {"f": lambda x: (float(x @ x), 2 * x), "value": lambda x: float(x @ x)}


def problem(x=(1.0, 2.0), **parts):
    return MinimizeProblem(**BOWL, x=None if x is None else np.array(x), **parts)


@pytest.mark.parametrize(("parts", "name"), [
    ({"x": None, "bounds": [(0, 1)]}, "multi_start"),
    ({"constraints": (1,), "bounds": [(0, 1)] * 2}, "constrained"),
    ({"penalty": penalties.l1()}, "proximal"),
    ({"bounds": [(0, 1)] * 2}, "lbfgs"),
    ({"hessian": abs}, "newton"),
    ({"product": abs}, "newton_cg"),
    ({}, "bfgs"),
    ({"x": np.ones(table.MANY)}, "lbfgs"),
])  # fmt: skip
def test_auto_takes_what_can_do_it(parts, name):
    p = problem(**parts)
    assert table.default_method(p) == name
    assert table.checked_method(name, p) is table.METHODS[name]


@pytest.mark.parametrize(("name", "parts", "words"), [
    ("quick", {}, "method must be 'auto' or one of"),
    ("newton", {}, "method 'newton' needs hessian"),
    ("newton_cg", {}, "needs hessian or product"),
    ("bfgs", {"x": None}, "needs a start x"),
    ("bfgs", {"bounds": [(0, 1)] * 2}, "cannot honour bounds; those that can: lbfgs"),
    ("lbfgs", {"penalty": penalties.l1()}, "cannot honour penalty"),
])  # fmt: skip
def test_refusals_say_what_is_missing(name, parts, words):
    with pytest.raises(ValueError, match=words):
        table.checked_method(name, problem(**parts))


def test_tensors_only_where_they_are_taken():
    torch = pytest.importorskip("torch")
    p = MinimizeProblem(**BOWL, x=torch.ones(2))
    assert table.default_method(p) == "conjugate"
    with pytest.raises(ValueError, match="x is a tensor"):
        table.checked_method("bfgs", p)


def test_bounds_as_a_penalty():
    g = table.penalty_or_bounds(problem(bounds=[(0, 1), (None, 2)]))
    np.testing.assert_array_equal(g.prox(np.array([-3.0, 5.0]), 1.0), [0, 2])
    assert g.value(np.array([0.5, 2.0])) == 0 and g.value(np.array([2.0, 0.0])) > 1e300
    inward, outward = np.array([-1.0, 0.0]), np.array([1.0, 0.0])
    assert g.distance(np.array([0.0, 0.0]), outward)[0] == 0
    assert g.distance(np.array([0.0, 0.0]), inward)[0] == 1
    assert table.penalty_or_bounds(problem()).value(np.ones(2)) == 0


def test_every_solver_of_the_table_can_be_loaded():
    names = {
        "smooth.bfgs": "bfgs",
        "smooth.newton": "newton_cg",
        "black_box.genetic": "genetic_algorithm",
    }
    assert all(callable(table.load_solver(m, n)) for m, n in names.items())
