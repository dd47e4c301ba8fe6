"""The table of methods behind `minimize`: what each needs and supports."""

import math
from collections.abc import Callable
from importlib import import_module
from typing import Any, NamedTuple

from ..core.arrays.arrays import asarray, is_torch, namespace
from ..penalties import Penalty, box
from ..penalties.base import COUPLED
from .constraints.duality import bounds_array

GIVEN = ("x", "hessian", "product", "bounds", "constraints", "penalty")
MANY = 200  # unknowns from which the dense matrix of BFGS costs too much


class MinimizeProblem(NamedTuple):
    """The arguments of `minimize`."""

    f: Callable  # x -> (value, gradient)
    value: Callable  # x -> value
    x: Any
    hessian: Callable | None = None
    product: Callable | None = None  # x -> (v -> H v)
    bounds: Any = None
    constraints: tuple = ()
    penalty: Any = None
    rng: Any = None

    @property
    def given(self) -> set[str]:
        """Names of the optional parts that were given."""
        names = {name for name in GIVEN if getattr(self, name) is not None}
        return names if self.constraints else names - {"constraints"}


class OptimMethod(NamedTuple):
    """A solver in the table, with what it needs and supports."""

    run: Callable  # (problem, **options) -> Result
    needs: frozenset = frozenset({"x"})
    takes: frozenset = frozenset()  # of bounds, constraints, penalty
    tensors: bool = False  # whether x may be a tensor


def _smooth_method(
    module: str, name: str, *, tensors=False, takes=(), **fixed
) -> OptimMethod:
    """Table entry of a solver that is called as solver(f, x, **options)."""

    def run(p, **options):
        if "bounds" in takes:
            options["bounds"] = p.bounds
        return load_solver(module, name)(p.f, p.x, **fixed, **options)

    return OptimMethod(run, takes=frozenset(takes), tensors=tensors)


def load_solver(module, name) -> Callable:
    """A solver by name; its module is imported on first use."""
    return getattr(import_module(f".{module}", __package__), name)


def _run_newton(p, **options):
    return load_solver("smooth.newton", "newton")(p.f, p.hessian, p.x, **options)


def _run_newton_cg(p, **options):
    product = p.product or (lambda x: p.hessian(x).__matmul__)
    return load_solver("smooth.newton", "newton_cg")(p.f, product, p.x, **options)


def penalty_or_bounds(p):
    """The penalty, or the bounds as an indicator penalty; without either, none."""
    if p.penalty is not None:
        return p.penalty
    if p.bounds is None:
        return box()
    low, high = (asarray(b, like=p.x) for b in bounds_array(p.bounds, len(p.x)).T)
    xp = namespace(p.x)
    clip = lambda w, step=1.0: xp.minimum(xp.maximum(w, low), high)
    value = lambda w: 0.0 if bool(xp.all((w >= low) & (w <= high))) else math.inf
    distance = lambda w, g: xp.abs(clip(w - g) - w)
    return Penalty("bounds", COUPLED, value, clip, distance, indicator=True)


def _run_proximal(p, **options):
    return load_solver("nonsmooth.proximal", "proximal_gradient")(
        p.f, penalty_or_bounds(p), p.x, **options
    )


def _run_projected(p, **options):
    return load_solver("nonsmooth.proximal", "projected_gradient")(
        p.f, penalty_or_bounds(p), p.x, **options
    )


def _run_subgradient(p, *, tol=None, **options):
    free = p.bounds is None and p.penalty is None
    constraint = None if free else penalty_or_bounds(p)
    solver = load_solver("smooth.gradient", "subgradient")
    return solver(p.f, p.x, constraint=constraint, **options)


def _run_constrained(p, **options):
    return load_solver("constraints.constrained", "constrained")(
        p.value,
        p.x,
        p.constraints,
        gradient=lambda u: p.f(u)[1],
        bounds=p.bounds,
        **options,
    )


def _black_box_method(module, name) -> OptimMethod:
    """Table entry of a derivative-free search over a box."""

    def run(p, **options):
        call = load_solver(module, name)
        if "tol" in options and name == "random_search":
            del options["tol"]
        if name == "random_search":
            options["n"] = options.pop("max_iter", 1000)
        elif p.x is not None:
            options["x"] = p.x
        pairs = [tuple(pair) for pair in bounds_array(p.bounds, len(p.bounds))]
        return call(p.value, pairs, random_state=p.rng, **options)

    return OptimMethod(run, frozenset({"bounds"}), frozenset({"bounds"}))


def _run_multi_start(p, *, n_starts=10, task=None, **options):
    from .black_box.point_search import latin_hypercube
    from .minimize import multi_start

    pairs = [tuple(pair) for pair in bounds_array(p.bounds, len(p.bounds))]
    starts = latin_hypercube(pairs, n_starts, random_state=p.rng)
    if p.x is not None:
        starts[0] = p.x
    return multi_start(p.f, starts, task=task, bounds=p.bounds, **options)


METHODS: dict[str, OptimMethod] = {
    "gradient": _smooth_method("smooth.gradient", "gradient_descent", tensors=True),
    "conjugate": _smooth_method(
        "smooth.conjugate_gradient", "conjugate_gradient", tensors=True
    ),
    "bfgs": _smooth_method("smooth.bfgs", "bfgs"),
    "lbfgs": _smooth_method("smooth.limited_memory_bfgs", "lbfgs", takes=("bounds",)),
    "block": _smooth_method("nonsmooth.block_coordinate", "block_descent"),
    "newton": OptimMethod(_run_newton, frozenset({"x", "hessian"})),
    "newton_cg": OptimMethod(_run_newton_cg, frozenset({"x", "hessian|product"})),
    "proximal": OptimMethod(
        _run_proximal, frozenset({"x"}), frozenset({"bounds", "penalty"}), True
    ),
    "projected": OptimMethod(
        _run_projected, frozenset({"x"}), frozenset({"bounds", "penalty"}), True
    ),
    "subgradient": OptimMethod(
        _run_subgradient, frozenset({"x"}), frozenset({"bounds", "penalty"}), True
    ),
    "constrained": OptimMethod(
        _run_constrained, frozenset({"x"}), frozenset({"bounds", "constraints"})
    ),
    "random_search": _black_box_method("black_box.point_search", "random_search"),
    "simulated_annealing": _black_box_method(
        "black_box.simulated_annealing", "simulated_annealing"
    ),
    "particle_swarm": _black_box_method("black_box.particle_swarm", "particle_swarm"),
    "genetic": _black_box_method("black_box.genetic", "genetic_algorithm"),
    "multi_start": OptimMethod(
        _run_multi_start, frozenset({"bounds"}), frozenset({"bounds"})
    ),
}


def default_method(p: MinimizeProblem) -> str:
    """The method of "auto"; the rule is in the text of `minimize`."""
    if p.x is None:
        return "multi_start"
    if p.constraints:
        return "constrained"
    if p.penalty is not None:
        return "proximal"
    if is_torch(p.x):
        return "proximal" if p.bounds is not None else "conjugate"
    if p.bounds is not None:
        return "lbfgs"
    if p.hessian is not None:
        return "newton"
    if p.product is not None:
        return "newton_cg"
    return "bfgs" if len(p.x) < MANY else "lbfgs"


def checked_method(name: str, p: MinimizeProblem) -> OptimMethod:
    """The method by name; ValueError if it cannot handle the problem."""
    if name not in METHODS:
        raise ValueError(f"method must be 'auto' or one of {[*METHODS]}, got {name!r}.")
    method = METHODS[name]
    given_parts = p.given
    for need in sorted(method.needs):
        if not given_parts & set(need.split("|")):
            word = "a start x" if need == "x" else need.replace("|", " or ")
            raise ValueError(f"method {name!r} needs {word}.")
    extra = given_parts & {"bounds", "constraints", "penalty"} - method.takes
    if extra:
        able = [n for n, m in METHODS.items() if extra <= m.takes] or ["none"]
        raise ValueError(
            f"method {name!r} cannot honour {' and '.join(sorted(extra))}; those that "
            f"can: {', '.join(able)}."
        )
    if p.x is not None and is_torch(p.x) and not method.tensors:
        raise ValueError(f"method {name!r} takes NumPy arrays; x is a tensor.")
    return method
