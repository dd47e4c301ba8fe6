"""The table of methods behind `minimize`: what each needs and takes into account."""

import math
from collections.abc import Callable
from importlib import import_module
from typing import Any, NamedTuple

from ..core.arrays import asarray, is_torch, namespace
from ..penalties import Penalty, box
from ..penalties.base import COUPLED
from .duality import limits

GIVEN = ("x", "hessian", "product", "bounds", "constraints", "penalty")
MANY = 200  # unknowns from which BFGS's matrix is not worth its price


class Problem(NamedTuple):
    """What the user gave."""

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
        some = {name for name in GIVEN if getattr(self, name) is not None}
        return some if self.constraints else some - {"constraints"}


class Method(NamedTuple):
    """A solver in the table."""

    run: Callable  # (problem, **options) -> Result
    needs: frozenset = frozenset({"x"})
    takes: frozenset = frozenset()  # of bounds, constraints, penalty
    tensors: bool = False  # whether x may be a tensor


def smooth(module: str, name: str, *, tensors=False, takes=(), **fixed) -> Method:
    """A solver solver(f, x, **options) of one of our modules."""

    def run(p, **options):
        if "bounds" in takes:
            options["bounds"] = p.bounds
        return solver(module, name)(p.f, p.x, **fixed, **options)

    return Method(run, takes=frozenset(takes), tensors=tensors)


def solver(module, name) -> Callable:
    return getattr(import_module(f".{module}", __package__), name)


def newton(p, **options):
    return solver("newton", "newton")(p.f, p.hessian, p.x, **options)


def newton_cg(p, **options):
    product = p.product or (lambda x: p.hessian(x).__matmul__)
    return solver("newton", "newton_cg")(p.f, product, p.x, **options)


def allowed(p):
    """The penalty, or the bounds as one; without either, none at all."""
    if p.penalty is not None:
        return p.penalty
    if p.bounds is None:
        return box()
    low, high = (asarray(b, like=p.x) for b in limits(p.bounds, len(p.x)).T)
    xp = namespace(p.x)
    into = lambda w, step=1.0: xp.minimum(xp.maximum(w, low), high)
    value = lambda w: 0.0 if bool(xp.all((w >= low) & (w <= high))) else math.inf
    distance = lambda w, g: xp.abs(into(w - g) - w)
    return Penalty("bounds", COUPLED, value, into, distance, indicator=True)


def proximal(p, **options):
    return solver("proximal", "proximal_gradient")(p.f, allowed(p), p.x, **options)


def projected(p, **options):
    return solver("proximal", "projected_gradient")(p.f, allowed(p), p.x, **options)


def subgradient(p, *, tol=None, **options):
    held = None if p.bounds is None and p.penalty is None else allowed(p)
    run = solver("gradient", "subgradient")
    return run(p.f, p.x, constraint=held, **options)


def constrained(p, **options):
    run, down = solver("constrained", "constrained"), lambda u: p.f(u)[1]
    how = {"gradient": down, "bounds": p.bounds}
    return run(p.value, p.x, p.constraints, **how, **options)


def black_box(module, name) -> Method:
    """A search over a box that needs no gradient."""

    def run(p, **options):
        call = solver(module, name)
        if "tol" in options and name == "random_search":
            del options["tol"]
        if name == "random_search":
            options["n"] = options.pop("max_iter", 1000)
        elif p.x is not None:
            options["x"] = p.x
        pairs = [tuple(pair) for pair in limits(p.bounds, len(p.bounds))]
        return call(p.value, pairs, random_state=p.rng, **options)

    return Method(run, frozenset({"bounds"}), frozenset({"bounds"}))


def several(p, *, n_starts=10, task=None, **options):
    from .designs import latin_hypercube
    from .minimize import multi_start

    pairs = [tuple(pair) for pair in limits(p.bounds, len(p.bounds))]
    starts = latin_hypercube(pairs, n_starts, random_state=p.rng)
    if p.x is not None:
        starts[0] = p.x
    return multi_start(p.f, starts, task=task, bounds=p.bounds, **options)


METHODS: dict[str, Method] = {
    "gradient": smooth("gradient", "gradient_descent", tensors=True),
    "conjugate": smooth("conjugate", "conjugate_gradient", tensors=True),
    "bfgs": smooth("bfgs", "bfgs"),
    "lbfgs": smooth("quasi_newton", "lbfgs", takes=("bounds",)),
    "block": smooth("block", "block_descent"),
    "newton": Method(newton, frozenset({"x", "hessian"})),
    "newton_cg": Method(newton_cg, frozenset({"x", "hessian|product"})),
    "proximal": Method(
        proximal, frozenset({"x"}), frozenset({"bounds", "penalty"}), True
    ),
    "projected": Method(
        projected, frozenset({"x"}), frozenset({"bounds", "penalty"}), True
    ),
    "subgradient": Method(
        subgradient, frozenset({"x"}), frozenset({"bounds", "penalty"}), True
    ),
    "constrained": Method(
        constrained, frozenset({"x"}), frozenset({"bounds", "constraints"})
    ),
    "random_search": black_box("designs", "random_search"),
    "simulated_annealing": black_box("annealing", "simulated_annealing"),
    "particle_swarm": black_box("swarm", "particle_swarm"),
    "genetic": black_box("genetic", "genetic"),
    "multi_start": Method(several, frozenset({"bounds"}), frozenset({"bounds"})),
}


def choose(p: Problem) -> str:
    """The rule of the module text."""
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


def check(name: str, p: Problem) -> Method:
    """The method, if it can do what is asked."""
    if name not in METHODS:
        raise ValueError(f"method must be 'auto' or one of {[*METHODS]}, got {name!r}.")
    method, given = METHODS[name], p.given
    for need in sorted(method.needs):
        if not given & set(need.split("|")):
            word = "a start x" if need == "x" else need.replace("|", " or ")
            raise ValueError(f"method {name!r} needs {word}.")
    extra = given & {"bounds", "constraints", "penalty"} - method.takes
    if extra:
        able = [n for n, m in METHODS.items() if extra <= m.takes] or ["none"]
        raise ValueError(
            f"method {name!r} cannot honour {' and '.join(sorted(extra))}; those that "
            f"can: {', '.join(able)}."
        )
    if p.x is not None and is_torch(p.x) and not method.tensors:
        raise ValueError(f"method {name!r} takes NumPy arrays; x is a tensor.")
    return method
